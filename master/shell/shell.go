// Package shell lets people log in to shells by SSH. The master itself is the SSH server: no port of an
// agent or a pod need be open, and the image of a shell needs no more than /bin/sh. What a login runs is
// started inside the shell's container by the streams of the resource manager.
//
//	ssh ─▶ tunnel of the client ─▶ /proxy/<shell>/ ─▶ Serve ─▶ key of the shell
//	                                                   ├─ session: a program, a terminal, signals ─▶ rm.Streams.Exec
//	                                                   ├─ session of sftp: a script per request   ─▶ rm.Streams.Exec
//	                                                   └─ forwarded port, at localhost inside    ─▶ rm.Streams.Dial
//
// Forwarding of agents and of ports towards the client is refused.
package shell

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sync/semaphore"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Config configures New. All fields except for Log must be set.
type Config struct {
	// HostKey is the key of the cluster, by which clients recognize it.
	HostKey ssh.Signer
	// KeyOf returns the key of a running shell and its container. It reports false if there is none.
	KeyOf func(id rm.TaskID) (key ssh.PublicKey, c rm.ContainerID, found bool)
	// Streams returns the streams of the resource manager.
	Streams func() rm.Streams
	// Entered is called for each login, with the context of Serve.
	Entered func(ctx context.Context, id rm.TaskID, address string)
	Log     *slog.Logger
}

const (
	// loginTime is the time limit for a login, and openTime that for the start of a program.
	loginTime = 30 * time.Second
	openTime  = 30 * time.Second
	// mostTries is the number of keys that a client may try: agents offer all they have.
	mostTries = 6
	// mostChannels is the maximum number of sessions and forwarded connections of one login.
	mostChannels = 64
	// mostTransfers is the maximum number of sessions of sftp of one login, mostFiles that of the files that
	// these have open, of which parts are in memory, and mostPrograms that of the programs that they run at
	// once.
	mostTransfers = 8
	mostFiles     = 32
	mostPrograms  = 32
)

// Server is safe for concurrent use.
type Server struct{ cfg Config }

// New returns a server.
func New(cfg Config) *Server {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{cfg}
}

// HostKey returns the public key of the cluster, as in a file of authorized keys.
func (s *Server) HostKey() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(s.cfg.HostKey.PublicKey())))
}

// login is the connection of a client that has logged in.
type login struct {
	*Server

	container rm.ContainerID
	channels  *semaphore.Weighted
	transfers *semaphore.Weighted
	opened    *semaphore.Weighted
	programs  *semaphore.Weighted
}

// Serve serves one connection to a shell until it or ctx ends. Address is the client's, for the audit log.
func (s *Server) Serve(ctx context.Context, conn net.Conn, id rm.TaskID, address string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	l := &login{
		Server: s, channels: semaphore.NewWeighted(mostChannels),
		transfers: semaphore.NewWeighted(mostTransfers), opened: semaphore.NewWeighted(mostFiles), programs: semaphore.NewWeighted(mostPrograms),
	}
	_ = conn.SetDeadline(time.Now().Add(loginTime))
	client, channels, requests, err := ssh.NewServerConn(conn, l.config(id))
	if err != nil {
		s.cfg.Log.Debug("a login to a shell failed", "task_id", id, "address", address, "err", err)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	s.cfg.Entered(ctx, id, address)
	go ssh.DiscardRequests(requests) // it refuses them
	for c := range channels {
		l.open(ctx, c)
	}
	_ = client.Close()
}

// config accepts the key of the shell only.
func (l *login) config(id rm.TaskID) *ssh.ServerConfig {
	cfg := &ssh.ServerConfig{
		MaxAuthTries: mostTries, ServerVersion: "SSH-2.0-det-deploy",
		PublicKeyCallback: func(_ ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
			key, c, found := l.cfg.KeyOf(id)
			if !found || !bytes.Equal(key.Marshal(), offered.Marshal()) {
				return nil, errors.New("not the key of this shell")
			}
			l.container = c
			return nil, nil //nolint:nilnil // there are no permissions
		},
	}
	cfg.AddHostKey(l.cfg.HostKey)
	return cfg
}

// open serves a channel in the background.
func (l *login) open(ctx context.Context, c ssh.NewChannel) {
	serve := map[string]func(context.Context, ssh.NewChannel){"session": l.session, "direct-tcpip": l.forward}[c.ChannelType()]
	switch {
	case serve == nil:
		_ = c.Reject(ssh.UnknownChannelType, "shells have sessions and forwarded ports only")
	case !l.channels.TryAcquire(1):
		_ = c.Reject(ssh.ResourceShortage, "too many sessions and forwarded connections")
	default:
		go func() {
			defer l.channels.Release(1)
			serve(ctx, c)
		}()
	}
}
