package agentrm

import (
	"bufio"
	"fmt"
	"net"
	"net/http"

	"github.com/det-deploy/det-deploy/gather"
)

// upgrade answers a request that becomes a connection, whose messages may gather.
type upgrade struct {
	http.ResponseWriter
	out *gather.Conn
}

// Hijack implements http.Hijacker.
func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over the connection of an agent: %w", err)
	}
	u.out = &gather.Conn{Conn: conn}
	buffers.Writer.Reset(u.out)
	return u.out, buffers, nil
}
