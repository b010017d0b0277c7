package shell

import (
	"context"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/det-deploy/det-deploy/internal/stream/frames"
)

// forwardRequest is the payload of a forwarded connection, as in RFC 4254, 7.2.
type forwardRequest struct {
	Host       string
	Port       uint32
	OriginHost string
	OriginPort uint32
}

// forward connects a client to a port of the container. Other hosts are refused: a login gives access to its
// container only.
func (l *login) forward(ctx context.Context, c ssh.NewChannel) {
	var to forwardRequest
	if ssh.Unmarshal(c.ExtraData(), &to) != nil || to.Port == 0 || to.Port > 65535 {
		_ = c.Reject(ssh.ConnectionFailed, "invalid address")
		return
	}
	if !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, to.Host) {
		_ = c.Reject(ssh.Prohibited, "only ports at localhost inside the shell's container are forwarded")
		return
	}
	limit, cancel := context.WithTimeout(ctx, openTime)
	conn, err := l.cfg.Streams().Dial(limit, l.container, int(to.Port))
	cancel()
	if err != nil {
		_ = c.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	channel, requests, err := c.Accept()
	if err != nil {
		_ = conn.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	frames.Join(ctx, conn, channel)
}
