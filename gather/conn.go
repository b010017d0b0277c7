// Package gather has short messages leave a connection together: the call that sends one, and the
// wake-up of who reads it, are most of what it costs, at both ends.
package gather

import (
	"net"
	"sync"
	"time"
)

// Most is how many bytes gather at most; what is larger leaves as it comes, after what has gathered.
const Most = 32 << 10

// Conn is a connection on which what is written between Hold and Release gathers.
type Conn struct {
	net.Conn

	mu   sync.Mutex // guards what follows, and keeps writes in their order
	held bool
	kept []byte
}

// Write implements net.Conn. That what has gathered cannot be sent is said by a later Write, or by
// Release.
func (c *Conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held && len(c.kept)+len(p) <= Most {
		c.kept = append(c.kept, p...)
		return len(p), nil
	}
	if err := c.writeKept(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Hold has what is written gather from now on, of every writer.
func (c *Conn) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
}

// Release writes what has gathered, within limit. After an error the connection is of no more use.
func (c *Conn) Release(limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	if len(c.kept) == 0 {
		return nil
	}
	if err := c.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	err := c.writeKept()
	c.kept = nil // a master has thousands of connections that rest
	if err != nil {
		return err
	}
	return c.SetWriteDeadline(time.Time{})
}

// writeKept writes what has gathered. The caller holds mu.
func (c *Conn) writeKept() error {
	if len(c.kept) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.kept)
	c.kept = c.kept[:0]
	return err
}
