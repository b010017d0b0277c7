package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/client-go/tools/remotecommand"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// Write implements stream.Process.
func (p *process) Write(b []byte) (int, error) { return p.stdin.w.Write(b) }

// CloseWrite implements stream.Process. The end of a terminal's input is a character: without its input,
// the terminal would hang up.
func (p *process) CloseWrite() error {
	if p.terminal {
		const endOfTransmission = 4
		_, err := p.Write([]byte{endOfTransmission})
		return err
	}
	return p.stdin.w.Close()
}

// Stdout implements stream.Process.
func (p *process) Stdout() io.Reader { return p.stdout }

// Stderr implements stream.Process.
func (p *process) Stderr() io.Reader {
	if p.terminal {
		return bytes.NewReader(nil)
	}
	return p.err.r
}

// Resize implements stream.Process. Only the latest size counts.
func (p *process) Resize(s stream.Size) error {
	for p.terminal {
		select {
		case p.sizes <- s:
			return nil
		default:
		}
		select {
		case <-p.sizes:
		default:
		}
	}
	return nil
}

// queue is the sizes of a terminal for client-go.
type queue struct{ p *process }

// Next implements remotecommand.TerminalSizeQueue.
func (q queue) Next() *remotecommand.TerminalSize {
	select {
	case s := <-q.p.sizes:
		return &remotecommand.TerminalSize{Width: s.Columns, Height: s.Rows}
	case <-q.p.done:
		return nil
	}
}

// signalTime limits the sending of a signal.
const signalTime = 10 * time.Second

// kill sends a signal to the process group of the program, which leads its session.
const kill = `echo $$; kill -s "$1" -- "-$2" 2>/dev/null || kill -s "$1" "$2"`

// Signal implements stream.Process.
func (p *process) Signal(name string) error {
	if !slices.Contains([]string{"INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2"}, name) {
		return fmt.Errorf("signal %q: must be INT, TERM, KILL, HUP, QUIT, USR1 or USR2", name)
	}
	select {
	case <-p.done:
		return nil // as for any program that has ended
	default:
	}
	ctx, cancel := context.WithTimeout(p.after, signalTime)
	defer cancel()
	k, err := p.client.start(ctx, p.to, []string{"/bin/sh", "-c", kill, "sh", name, p.pid}, nil)
	if err != nil {
		return fmt.Errorf("send signal %s: %w", name, err)
	}
	defer k.release()
	defer context.AfterFunc(ctx, k.cancel)()
	go func() { _, _ = io.Copy(io.Discard, k.stdout) }()  // it prints nothing more
	text, _ := io.ReadAll(io.LimitReader(k.err.r, 1<<10)) // ends with it
	code, err := k.Wait()
	if err == nil && code != 0 {
		err = errors.New(string(bytes.TrimSpace(text)))
	}
	if err != nil {
		return fmt.Errorf("send signal %s: %w", name, err)
	}
	return nil
}

// Wait implements stream.Process.
func (p *process) Wait() (int, error) {
	<-p.done
	return p.code, p.failure
}

// Close implements stream.Process.
func (p *process) Close() error {
	var err error
	select {
	case <-p.done:
	default:
		err = p.Signal("KILL")
	}
	p.release()
	return err
}

// release ends the stream and everything that serves it.
func (p *process) release() {
	p.cancel()
	_, _, _ = p.stdin.w.Close(), p.out.r.Close(), p.err.r.Close() // a pipe's Close returns nil
	<-p.done
}
