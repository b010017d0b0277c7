package streams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Send sends an order to the agent.
type Send func(*agentv1.MasterMessage)

// opener makes a stream of a websocket, and returns a channel that is closed when it has ended.
type opener func(ws *websocket.Conn) (ended <-chan struct{})

// Dial connects to a port of the container.
func (s *Streams) Dial(ctx context.Context, o *Order, send Send, port int) (net.Conn, error) {
	var conn *frames.Conn
	what := &agentv1.OpenStream{Open: &agentv1.OpenStream_Port{Port: int32(port)}} //nolint:gosec // a port
	err := s.order(ctx, o, send, what, func(ws *websocket.Conn) <-chan struct{} {
		conn = frames.NewConn(o.ctx, ws)
		return conn.Done()
	})
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Exec starts a program in the container.
func (s *Streams) Exec(ctx context.Context, o *Order, send Send, p stream.Program) (stream.Process, error) {
	program := &agentv1.Program{Argv: p.Argv}
	if p.Terminal != nil {
		program.Terminal = &agentv1.TerminalSize{Columns: uint32(p.Terminal.Columns), Rows: uint32(p.Terminal.Rows)}
	}
	return s.start(ctx, o, send, &agentv1.OpenStream{Open: &agentv1.OpenStream_Program{Program: program}})
}

func (s *Streams) start(ctx context.Context, o *Order, send Send, what *agentv1.OpenStream) (stream.Process, error) {
	var process frames.Remote
	err := s.order(ctx, o, send, what, func(ws *websocket.Conn) <-chan struct{} {
		process = frames.Open(o.ctx, ws)
		return process.Done()
	})
	if err != nil {
		return nil, err
	}
	return process, nil
}

// ReadFiles reads a file or a directory of the container.
func (s *Streams) ReadFiles(ctx context.Context, o *Order, send Send, path string) (io.ReadCloser, error) {
	p, err := s.start(ctx, o, send, &agentv1.OpenStream{Open: &agentv1.OpenStream_ReadPath{ReadPath: path}})
	if err != nil {
		return nil, err
	}
	return archive{p}, nil
}

// archive is the output of a program that sends an archive.
type archive struct{ stream.Process }

// Read returns the reason of the container's side instead of io.EOF if the archive is not complete.
func (a archive) Read(p []byte) (int, error) {
	n, err := a.Stdout().Read(p)
	if err == nil {
		return n, nil
	}
	if _, failed := a.Wait(); failed != nil {
		return n, refusalOf(failed)
	}
	return n, err
}

// refusalOf returns the reason of the container's side as such.
func refusalOf(err error) error {
	if end, ok := errors.AsType[*frames.EndError](err); ok {
		return &rm.RefusedError{Reason: end.Reason}
	}
	return err
}

// WriteFiles unpacks an archive in the container.
func (s *Streams) WriteFiles(ctx context.Context, o *Order, send Send, dir string, archive io.Reader) error {
	p, err := s.start(ctx, o, send, &agentv1.OpenStream{Open: &agentv1.OpenStream_WriteDir{WriteDir: dir}})
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	stop := context.AfterFunc(ctx, func() { o.cancel(context.Cause(ctx)) })
	defer stop()
	_, err = io.Copy(p, archive)
	if err == nil {
		err = p.CloseWrite()
	}
	if err != nil && o.ctx.Err() == nil {
		return fmt.Errorf("send the archive: %w", err)
	}
	_, err = p.Wait()
	return refusalOf(err)
}

// order sends an order to the agent and waits until the agent has answered it. After an error the place
// is free.
func (s *Streams) order(ctx context.Context, o *Order, send Send, what *agentv1.OpenStream, open opener) (err error) {
	defer func() {
		if err != nil {
			o.cancel(err)
		}
	}()
	late := &rm.UnreachableError{Reason: fmt.Sprintf("agent %s did not open the stream within %v; try again", o.agent, s.cfg.Patience)}
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Patience, late)
	defer cancel()
	s.expect(o, open)
	what.StreamId, what.ContainerId = o.id, string(o.container)
	send(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_OpenStream{OpenStream: what}})
	select {
	case err := <-o.answer:
		return err
	case <-o.ctx.Done():
		return context.Cause(o.ctx) //nolint:contextcheck // the stream's
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// expect lets an agent answer an order.
func (s *Streams) expect(o *Order, open opener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.open = open
}
