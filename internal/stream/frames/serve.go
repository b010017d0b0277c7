package frames

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// Serve connects a program to the websocket of the person who started it, until the program has ended and
// its output was sent. It closes both. When the websocket closes or its other end vanishes it ends the
// program, and returns an error wrapping ErrLost. When ctx is done it ends the program and sends the cause
// of ctx.
func Serve(ctx context.Context, ws *websocket.Conn, p stream.Process) error {
	return serve(ctx, ws, p, usual())
}

// server is the container's end of a stream.
type server struct {
	*wire
	process stream.Process
	input   *input
}

func serve(ctx context.Context, ws *websocket.Conn, p stream.Process, t timing) error {
	s := &server{wire: newWire(ws, t), process: p, input: newInput()}
	// The websocket outlives ctx by a message with the reason.
	linked, unlink := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = p.Close()
		time.AfterFunc(s.farewell, func() { unlink(context.Cause(ctx)) })
	})
	left := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		defer close(left)
		unlink(s.readFrames(linked))
		_ = p.Close()
	})
	work.Go(func() { s.keepAlive(linked) })
	work.Go(func() { s.feedInput(linked) })
	defer func() {
		stop()
		unlink(nil)
		_, _ = ws.CloseNow(), p.Close()
		s.input.end()
		work.Wait()
	}()
	code, err := s.sendOutput(linked)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if linked.Err() != nil || s.sendEnd(linked, code, err, left) != nil {
		<-left
		return context.Cause(linked)
	}
	return err
}

// readFrames handles the messages of the person's end until the websocket closes.
func (s *server) readFrames(ctx context.Context) error {
	for {
		data, err := s.read(ctx)
		if err != nil {
			return err
		}
		k, payload, c, err := decode(data)
		if err == nil {
			err = s.take(k, payload, c)
		}
		if err != nil {
			_ = s.ws.CloseNow()
			return fmt.Errorf("%w: it sent %w", ErrLost, err)
		}
	}
}

// take handles one message. A resize or a signal that fails changes nothing.
func (s *server) take(k kind, payload []byte, c control) error {
	switch {
	case k == stdin:
		return s.input.add(payload)
	case k != command:
		return errors.New("output of a program")
	case c.Resize != nil:
		_ = s.process.Resize(*c.Resize)
	case c.Signal != "":
		_ = s.process.Signal(c.Signal)
	case c.CloseStdin:
		s.input.end()
	}
	return nil
}

// feedInput writes the standard input to the program, and acknowledges it. A program that closes its
// input is fed no more, and what arrives for it is dropped.
func (s *server) feedInput(ctx context.Context) {
	buf := make([]byte, chunk)
	var closed bool
	for {
		n, err := s.input.next(buf)
		if err != nil {
			_ = s.process.CloseWrite() // it has ended, or closed its input
			return
		}
		if !closed {
			_, err = s.process.Write(buf[:n])
			closed = err != nil
		}
		if taken := s.input.take(n); taken > 0 {
			if s.write(ctx, control{Taken: taken}.encode()) != nil {
				return
			}
		}
	}
}

// sendOutput sends all output, and returns the exit code of the program.
func (s *server) sendOutput(ctx context.Context) (code int, err error) {
	var both sync.WaitGroup
	for k, r := range map[kind]io.Reader{stdout: s.process.Stdout(), stderr: s.process.Stderr()} {
		both.Go(func() {
			if s.copyOutput(ctx, k, r) != nil {
				_ = s.process.Close() // nobody reads its output
			}
		})
	}
	both.Wait()
	return s.process.Wait()
}

// copyOutput sends the content of r. It returns an error of the websocket.
func (s *server) copyOutput(ctx context.Context, k kind, r io.Reader) error {
	buf := make([]byte, 1+chunk)
	buf[0] = byte(k)
	for {
		n, err := r.Read(buf[1:])
		if n > 0 {
			if err := s.write(ctx, buf[:1+n]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil //nolint:nilerr // Wait returns why the output ended
		}
	}
}

// sendEnd sends the exit code or the error of the program, and waits for the other end to close. It
// returns an error if the websocket is closed.
func (s *server) sendEnd(ctx context.Context, code int, err error, left <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, s.farewell)
	defer cancel()
	end := control{Exit: &code}
	if err != nil {
		end = control{Error: err.Error()}
	}
	if err := s.write(ctx, end.encode()); err != nil {
		return err
	}
	select {
	case <-left:
	case <-ctx.Done():
	}
	return nil
}
