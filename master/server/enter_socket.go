package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/master/api/status"
)

const (
	// longestProgram is the maximum size of the first message, which names the program.
	longestProgram = 256 << 10
	// programTime is the time for it.
	programTime = 10 * time.Second
)

// exec runs a program in a container. The first message is the program, and the others are those of
// frames.
func (e *entryCalls) exec(c *call) error {
	in, leave, err := e.enter(c)
	if err != nil {
		return err
	}
	defer leave()
	if err := checkSocket(c); err != nil {
		return err
	}
	ws, err := e.upgrade(c)
	if err != nil {
		return nil // it was answered
	}
	defer func() { _ = ws.CloseNow() }()
	p, err := startProgram(in, ws)
	if err != nil {
		p = failed{streamRefusal(err)}
	}
	_ = frames.Serve(in.ctx, ws, p) // its error was sent
	return nil
}

// checkSocket returns an error unless a call opens a websocket, for a program or for a page of this site.
func checkSocket(c *call) error {
	switch {
	case !strings.EqualFold(c.Header.Get("Upgrade"), "websocket"):
		return status.New(status.InvalidArgument, "this request must open a websocket")
	case isFromOtherSite(c.Request):
		return status.New(status.PermissionDenied, "requests from other sites are not allowed")
	}
	return nil
}

// upgrade makes a websocket of a call, and records it.
func (e *entryCalls) upgrade(c *call) (*websocket.Conn, error) {
	c.answered(c.Context())
	return websocket.Accept(c.w, c.Request, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
}

func startProgram(in entry, ws *websocket.Conn) (stream.Process, error) {
	ctx, cancel := in.opening()
	defer cancel()
	p, err := readProgram(ctx, ws)
	if err != nil {
		return nil, err
	}
	return in.Exec(ctx, in.Container, p)
}

func readProgram(ctx context.Context, ws *websocket.Conn) (p stream.Program, err error) {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	ws.SetReadLimit(longestProgram)
	_, data, err := ws.Read(ctx)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("the first message must be a program as JSON: %w", err)
	}
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return p, status.New(status.InvalidArgument, "argv: must not be empty")
	}
	return p, nil
}

// failed is a program that could not be started.
type failed struct{ err error }

func (failed) Write([]byte) (int, error)   { return 0, io.ErrClosedPipe }
func (failed) CloseWrite() error           { return nil }
func (failed) Stdout() io.Reader           { return bytes.NewReader(nil) }
func (failed) Stderr() io.Reader           { return bytes.NewReader(nil) }
func (failed) Resize(stream.Size) error    { return nil }
func (failed) Signal(string) error         { return nil }
func (f failed) Wait() (code int, e error) { return 0, f.err }
func (failed) Close() error                { return nil }

// portOf returns the port that a call names.
func portOf(c *call) (int, error) {
	if err := checkSocket(c); err != nil {
		return 0, err
	}
	port := c.query().Number("port")
	if err := c.query().Err(); err != nil {
		return 0, err
	}
	if port < 1 || port > 65535 {
		return 0, status.New(status.InvalidArgument, "port: must be between 1 and 65535 (is %d)", port)
	}
	return port, nil
}

// port connects to a port of a container.
func (e *entryCalls) port(c *call) error {
	in, leave, err := e.enter(c)
	if err != nil {
		return err
	}
	defer leave()
	port, err := portOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := in.opening()
	defer cancel()
	to, err := in.Dial(ctx, in.Container, port)
	if err != nil {
		return streamRefusal(err)
	}
	defer func() { _ = to.Close() }()
	ws, err := e.upgrade(c)
	if err != nil {
		return nil // it was answered
	}
	defer func() { _ = ws.CloseNow() }()
	frames.Join(in.ctx, frames.NewConn(in.ctx, ws), to)
	return nil
}

// oneLine returns the text of an error as the value of a header.
func oneLine(err error) string {
	const most = 1 << 10
	text := strings.Join(strings.Fields(err.Error()), " ")
	return text[:min(len(text), most)]
}
