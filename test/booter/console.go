package booter

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// console is a machine's terminal and its output.
type console struct {
	// path is the machine's side of the terminal.
	path   string
	master *os.File
	ended  chan struct{}

	// mu guards text.
	mu   sync.Mutex
	text []byte
}

func openConsole() (*console, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		_ = unix.Close(fd) // the other error is returned
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	c := &console{path: fmt.Sprint("/dev/pts/", n), master: os.NewFile(uintptr(fd), "console"), ended: make(chan struct{})}
	return c, nil
}

// read collects the output until the terminal is closed. It holds the machine's side open, because
// reading returns transient errors while that is closed.
func (c *console) read(held *os.File) {
	defer close(c.ended)
	defer func() { _ = held.Close() }() // nothing was written
	buffer := make([]byte, 4096)
	for {
		n, err := c.master.Read(buffer)
		c.mu.Lock()
		c.text = append(c.text, buffer[:n]...)
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *console) start() error {
	held, err := os.OpenFile(c.path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	go c.read(held)
	return nil
}

func (c *console) close() {
	_ = c.master.Close() // the reader returns
	<-c.ended
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}
