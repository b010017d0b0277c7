package term

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// IsInteractive reports whether both input and Out are terminals, on which a program can be used as if it
// ran here.
func (s *Streams) IsInteractive() bool { return s.inTerminal && s.outTerminal }

// OutTerminal reports whether Out is a terminal.
func (s *Streams) OutTerminal() bool { return s.outTerminal }

// Raw passes every key of the terminal on, including Ctrl-C, until restore is called, which may be called
// repeatedly.
func (s *Streams) Raw() (restore func(), err error) {
	f, ok := s.In.(*os.File)
	if !ok {
		return func() {}, nil // a test
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { _ = term.Restore(int(f.Fd()), before) }), nil
}

// FollowSize calls set with the size of the terminal of Out now and after each change, until stop is
// called.
func (s *Streams) FollowSize(set func(columns, rows int)) (stop func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-changed:
				set(s.outSize())
			}
		}
	}()
	return sync.OnceFunc(func() { signal.Stop(changed); close(done) })
}

// OutSize returns the size of the terminal of Out, or zeros if it is none.
func (s *Streams) OutSize() (columns, rows int) { return s.outSize() }

// Foreign returns writers to Out and Err for the output of another program, whose lines begin with head.
// Without a head, what goes to a file or a pipe is passed on as it is. Flush prints what is left without
// a line's end.
func (s *Streams) Foreign(head string) (out, err *ForeignWriter) {
	var mu sync.Mutex
	return &ForeignWriter{mu: &mu, head: head, to: s.Out, print: s.PrintForeign, plain: head == "" && !s.outTerminal},
		&ForeignWriter{mu: &mu, head: head, to: s.Err, print: s.PrintForeignErr, plain: head == "" && !s.errTerminal}
}

// ForeignWriter prints the output of another program line by line.
type ForeignWriter struct {
	mu    *sync.Mutex // of both outputs
	head  string
	to    io.Writer
	print func(head, text string) error
	plain bool
	line  []byte
}

// longestLine is the length at which a line is printed without its end.
const longestLine = 64 << 10

// Write implements io.Writer.
func (w *ForeignWriter) Write(b []byte) (int, error) {
	if w.plain {
		return w.to.Write(b)
	}
	w.line = append(w.line, b...)
	for {
		i := bytes.IndexByte(w.line, '\n')
		if i < 0 && len(w.line) < longestLine {
			return len(b), nil
		}
		if i < 0 {
			i = len(w.line) - 1
		}
		text := string(w.line[:i+1])
		w.line = w.line[i+1:]
		if err := w.printLine(text); err != nil {
			return 0, err
		}
	}
}

func (w *ForeignWriter) printLine(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.print(w.head, text)
}

// Flush prints the last line if it has no end.
func (w *ForeignWriter) Flush() error {
	if len(w.line) == 0 {
		return nil
	}
	text := string(w.line)
	w.line = nil
	if w.head != "" {
		text += "\n"
	}
	return w.printLine(text)
}
