package frames

import (
	"errors"
	"io"
	"sync"
)

const (
	// window is the maximum number of bytes of the standard input that the program has not read. It lets
	// a resize or a signal pass a program that does not read its input, and limits what one stream can
	// store.
	window = 512 << 10
	// acknowledged is the number of bytes after which the sender learns that they were read.
	acknowledged = window / 8
)

var errWindow = errors.New("more input than the program has read")

// input is the standard input that has arrived and was not written to the program.
type input struct {
	mu      sync.Mutex // guards the fields below
	arrived sync.Cond
	data    []byte
	taken   int // bytes that the sender does not know to be read
	ended   bool
}

func newInput() *input {
	in := &input{}
	in.arrived.L = &in.mu
	return in
}

// add appends received input. It returns an error if the sender ignores the window.
func (in *input) add(p []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.data)+in.taken+len(p) > window {
		return errWindow
	}
	if !in.ended {
		in.data = append(in.data, p...)
	}
	in.arrived.Signal()
	return nil
}

// end ends the input after the received part.
func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	in.arrived.Signal()
}

// next waits for input and moves at most a chunk of it into p. It returns io.EOF at the end.
func (in *input) next(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.data) == 0 {
		if in.ended {
			return 0, io.EOF
		}
		in.arrived.Wait()
	}
	n := copy(p, in.data)
	in.data = in.data[n:]
	if len(in.data) == 0 {
		in.data = nil // an idle stream stores nothing
	}
	return n, nil
}

// take counts n bytes as read, and returns the number to tell the sender, which is often 0.
func (in *input) take(n int) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.taken += n
	if in.taken < acknowledged {
		return 0
	}
	n, in.taken = in.taken, 0
	return n
}
