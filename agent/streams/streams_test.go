package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inside is an entrance to one container, whose ports are those of this machine.
type inside struct {
	err     error
	files   string
	written bytes.Buffer
	program stream.Program
}

func (i *inside) Dial(ctx context.Context, _ string, port int) (net.Conn, error) {
	if i.err != nil {
		return nil, i.err
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
}

func (i *inside) Exec(_ context.Context, _ string, p stream.Program) (stream.Process, error) {
	i.program = p
	return finished{}, i.err
}

func (i *inside) ReadFiles(context.Context, string, string) (io.ReadCloser, error) {
	if i.err != nil {
		return nil, i.err
	}
	return io.NopCloser(strings.NewReader(i.files)), nil
}

func (i *inside) WriteFiles(_ context.Context, _, _ string, archive io.Reader) error {
	if i.err != nil {
		return i.err
	}
	_, err := i.written.ReadFrom(archive)
	return err
}

// finished is a program that has printed a line and exited with 4.
type finished struct{}

func (finished) Write(p []byte) (int, error) { return len(p), nil }
func (finished) CloseWrite() error           { return nil }
func (finished) Stdout() io.Reader           { return strings.NewReader("done") }
func (finished) Stderr() io.Reader           { return strings.NewReader("") }
func (finished) Resize(stream.Size) error    { return nil }
func (finished) Signal(string) error         { return nil }
func (finished) Wait() (int, error)          { return 4, nil }
func (finished) Close() error                { return nil }

// master accepts the websockets of streams.
type master struct {
	url      string
	accepted chan *websocket.Conn
}

func newMaster(t *testing.T) *master {
	t.Helper()
	m := &master{accepted: make(chan *websocket.Conn, 1)}
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		ws, err := websocket.Accept(w, q, nil)
		if err != nil {
			t.Error(err)
			return
		}
		m.accepted <- ws
		<-over
		_ = ws.CloseNow()
	}))
	m.url = s.URL
	t.Cleanup(func() { close(over); s.Close() })
	return m
}

func (m *master) dial(ctx context.Context, _ string) (*websocket.Conn, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	ws, _, err := websocket.Dial(ctx, m.url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	return ws, err
}

// serve carries out an order, and returns the master's end of the stream.
func (m *master) serve(t *testing.T, e container.Entrance, o *agentv1.OpenStream) (ws *websocket.Conn, served <-chan error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- Serve(t.Context(), e, o, m.dial) }()
	select {
	case ws := <-m.accepted:
		return ws, done
	case err := <-done:
		t.Fatalf("the stream is not opened: %v", err)
		return nil, nil
	}
}

// listen returns a port on which serve is called for a connection.
func listen(t *testing.T, serve func(*net.TCPConn)) int {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		if c, err := l.AcceptTCP(); err == nil {
			serve(c)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func port(n int) *agentv1.OpenStream {
	return &agentv1.OpenStream{StreamId: "s", ContainerId: "c", Open: &agentv1.OpenStream_Port{Port: int32(n)}}
}

func TestConnection(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	n := listen(t, func(c *net.TCPConn) {
		request, _ := io.ReadAll(c) // until the half-close
		_, _ = fmt.Fprintf(c, "got %s", request)
		_ = c.Close()
	})
	ws, served := m.serve(t, &inside{}, port(n))
	conn := frames.NewConn(t.Context(), ws)
	if _, err := io.WriteString(conn, "a request"); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "got a request" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_ = conn.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A service that is killed in the middle of an answer has not sent a shorter one.
func TestBrokenConnectionIsNoEnd(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	n := listen(t, func(c *net.TCPConn) {
		_, _ = io.ReadFull(c, make([]byte, 1))
		_ = c.SetLinger(0) // a reset
		_ = c.Close()
	})
	ws, served := m.serve(t, &inside{}, port(n))
	conn := frames.NewConn(t.Context(), ws)
	_, _ = io.WriteString(conn, "x")
	if _, err := io.ReadAll(conn); !errors.Is(err, frames.ErrLost) {
		t.Errorf("got %v, want %v", err, frames.ErrLost)
	}
	_ = conn.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A service that does not notice that its client has left is left too.
func TestClosedConnectionIsClosedInside(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	left := make(chan struct{})
	n := listen(t, func(c *net.TCPConn) {
		<-left
		_ = c.Close()
	})
	ws, served := m.serve(t, &inside{}, port(n))
	_ = frames.NewConn(t.Context(), ws).Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	close(left)
}

func TestProgram(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	e := &inside{}
	ws, served := m.serve(t, e, &agentv1.OpenStream{Open: &agentv1.OpenStream_Program{Program: &agentv1.Program{
		Argv: []string{"sh"}, Terminal: &agentv1.TerminalSize{Columns: 132, Rows: 50},
	}}})
	p := frames.Open(t.Context(), ws)
	if got, err := io.ReadAll(p.Stdout()); string(got) != "done" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if code, err := p.Wait(); code != 4 || err != nil {
		t.Errorf("got %d, %v", code, err)
	}
	if e.program.Argv[0] != "sh" || *e.program.Terminal != (stream.Size{Columns: 132, Rows: 50}) {
		t.Errorf("got program %+v", e.program)
	}
	_ = p.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("an archive", 200_000)
	for _, row := range []struct {
		e    *inside
		o    *agentv1.OpenStream
		want string
	}{
		{&inside{files: large}, &agentv1.OpenStream{Open: &agentv1.OpenStream_ReadPath{ReadPath: "/data"}}, ""},
		{&inside{}, &agentv1.OpenStream{Open: &agentv1.OpenStream_WriteDir{WriteDir: "/data"}}, ""},
		{
			&inside{err: &container.PathError{Path: "/data", Err: errors.New("read-only file system")}},
			&agentv1.OpenStream{Open: &agentv1.OpenStream_WriteDir{WriteDir: "/data"}}, "/data: read-only file system",
		},
	} {
		m := newMaster(t)
		ws, served := m.serve(t, row.e, row.o)
		p := frames.Open(t.Context(), ws)
		if row.o.GetWriteDir() != "" {
			go func() {
				_, _ = io.WriteString(p, large)
				_ = p.CloseWrite()
			}()
		}
		got, err := io.ReadAll(p.Stdout())
		if err != nil && row.want == "" {
			t.Error(err)
		}
		_, err = p.Wait()
		switch {
		case row.want == "" && (err != nil || string(got)+row.e.written.String() != large):
			t.Errorf("got %d and %d bytes and %v, want %d", len(got), row.e.written.Len(), err, len(large))
		case row.want != "" && (err == nil || err.Error() != row.want):
			t.Errorf("got %v, want %s", err, row.want)
		}
		_ = p.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// The reasons for which the container's side is not opened come without a websocket.
func TestFailures(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	for name, row := range map[string]struct {
		e    *inside
		o    *agentv1.OpenStream
		kind agentv1.StreamFailed_Kind
		want string
	}{
		"a port on which nothing listens": {&inside{}, port(1), agentv1.StreamFailed_KIND_UNSPECIFIED, "connection refused"},
		"a container that has ended":      {&inside{err: container.ErrNotRunning}, port(1), agentv1.StreamFailed_KIND_NOT_RUNNING, "not running"},
		"an engine that hangs":            {&inside{err: container.ErrNoAnswer}, port(1), agentv1.StreamFailed_KIND_CANNOT_ENTER, "does not answer"},
		"a program that does not exist": {
			&inside{err: errors.New("sh: not found")}, &agentv1.OpenStream{Open: &agentv1.OpenStream_Program{}},
			agentv1.StreamFailed_KIND_UNSPECIFIED, "sh: not found",
		},
		"a file that does not exist": {
			&inside{err: &container.PathError{Path: "/x", Err: errors.New("no such file")}}, &agentv1.OpenStream{Open: &agentv1.OpenStream_ReadPath{}},
			agentv1.StreamFailed_KIND_UNSPECIFIED, "/x: no such file",
		},
		"an order of a later master": {&inside{}, &agentv1.OpenStream{}, agentv1.StreamFailed_KIND_CANNOT_ENTER, "upgrade it"},
	} {
		err := Serve(t.Context(), row.e, row.o, m.dial)
		if err == nil {
			t.Errorf("%s: the stream is opened", name)
			continue
		}
		f := FailureOf(row.o, err).GetStreamFailed()
		if f.GetKind() != row.kind || !strings.Contains(f.GetReason(), row.want) || f.GetStreamId() != row.o.GetStreamId() {
			t.Errorf("%s: got %v", name, f)
		}
	}
}

func TestStreamsEndWithTheAgent(t *testing.T) {
	t.Parallel()
	n := listen(t, func(c *net.TCPConn) {
		_, _ = io.Copy(c, c)
		_ = c.Close()
	})
	ctx, cancel := context.WithCancel(t.Context())
	m := newMaster(t)
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, &inside{}, port(n), m.dial) }()
	conn := frames.NewConn(t.Context(), <-m.accepted)
	if _, err := io.WriteString(conn, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(conn); !errors.Is(err, frames.ErrLost) {
		t.Errorf("got %v, want %v", err, frames.ErrLost)
	}
	_ = conn.Close()
}

// A master that takes no streams anymore leaves nothing open inside.
func TestStreamThatTheMasterRefuses(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	n := listen(t, func(c *net.TCPConn) {
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
		close(closed)
	})
	gone := func(context.Context, string) (*websocket.Conn, error) { return nil, errors.New("status 404") }
	if err := Serve(t.Context(), &inside{}, port(n), gone); err == nil {
		t.Error("got no error")
	}
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("the connection to the service is open")
	}
}
