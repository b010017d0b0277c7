package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/stream/frames"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

// Enter implements Tasks: every task runs one container, for its owner and administrators.
func (c *cluster) Enter(ctx context.Context, by *apiv1.User, id string, rank int) (task.Entrance, error) {
	owner, err := c.Owner(ctx, id)
	switch {
	case err != nil:
		return task.Entrance{}, err
	case owner != by.GetId() && !by.GetAdmin():
		return task.Entrance{}, status.New(status.PermissionDenied, "only its owner or an administrator may enter task %s", id)
	case rank != 0:
		return task.Entrance{}, status.New(status.NotFound, "no such rank")
	}
	return task.Entrance{Streams: &inside{}, Container: "c1"}, nil
}

// inside is a container whose only program copies its input to its output, and ends with code 3.
type inside struct{}

func (*inside) Dial(ctx context.Context, _ rm.ContainerID, port int) (net.Conn, error) {
	if port == 9 {
		return nil, errors.New("connect to port 9: connection refused")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		defer func() { _ = l.Close() }()
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(c, c)
		_ = c.Close()
	}()
	return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
}

func (*inside) Exec(_ context.Context, _ rm.ContainerID, p stream.Program) (stream.Process, error) {
	if p.Argv[0] == "crowd" {
		return nil, rm.ErrTooManyStreams
	}
	r, w := io.Pipe()
	return &copying{PipeWriter: w, out: r}, nil
}

type copying struct {
	*io.PipeWriter
	out *io.PipeReader
}

func (c *copying) CloseWrite() error        { return c.PipeWriter.Close() }
func (c *copying) Stdout() io.Reader        { return c.out }
func (c *copying) Stderr() io.Reader        { return strings.NewReader("") }
func (c *copying) Resize(stream.Size) error { return nil }
func (c *copying) Signal(string) error      { return nil }
func (c *copying) Wait() (int, error)       { return 3, nil }
func (c *copying) Close() error             { return errors.Join(c.PipeWriter.Close(), c.out.Close()) }

func (*inside) ReadFiles(_ context.Context, _ rm.ContainerID, path string) (io.ReadCloser, error) {
	if path == "/torn" {
		return io.NopCloser(io.MultiReader(strings.NewReader("half"), errReader{})), nil
	}
	return io.NopCloser(strings.NewReader("archive of " + path)), nil
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("tar:\nPermission denied") }

func (*inside) WriteFiles(_ context.Context, _ rm.ContainerID, dir string, archive io.Reader) error {
	b, err := io.ReadAll(archive)
	if err == nil && string(b) != "archive of "+dir {
		err = errors.New("got " + string(b))
	}
	return err
}

// socket opens a websocket.
func socket(t *testing.T, address, path string, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ws, resp, err := websocket.Dial(t.Context(), strings.Replace(address, "http", "ws", 1)+path, &websocket.DialOptions{HTTPHeader: header})
	if err == nil {
		t.Cleanup(func() { _ = ws.CloseNow() })
	}
	return ws, resp, err
}

func bearerOf(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func TestProgramInATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hs := w.serve(t)
	run := func(p stream.Program, input string) (string, int, error) {
		ws, _, err := socket(t, hs.URL, "/api/v1/tasks/t1/exec", bearerOf(w.user))
		if err != nil {
			t.Fatal(err)
		}
		first, _ := json.Marshal(p)
		if err := ws.Write(t.Context(), websocket.MessageText, first); err != nil {
			t.Fatal(err)
		}
		x := frames.Open(t.Context(), ws)
		defer func() { _ = x.Close() }()
		go func() {
			_, _ = io.WriteString(x, input)
			_ = x.CloseWrite()
		}()
		out, _ := io.ReadAll(x.Stdout())
		code, err := x.Wait()
		return string(out), code, err
	}
	if out, code, err := run(stream.Program{Argv: []string{"copy"}}, "some input"); out != "some input" || code != 3 || err != nil {
		t.Errorf("got %q, %d and %v", out, code, err)
	}
	if _, _, err := run(stream.Program{Argv: []string{"crowd"}}, ""); err == nil || !strings.Contains(err.Error(), "too many streams are open; close some first") {
		t.Errorf("got %v", err)
	}
	if _, _, err := run(stream.Program{}, ""); err == nil || !strings.Contains(err.Error(), "argv: must not be empty") {
		t.Errorf("got %v", err)
	}
}

func TestPortOfATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hs := w.serve(t)
	ws, _, err := socket(t, hs.URL, "/api/v1/tasks/t1/port?port=8080", bearerOf(w.user))
	if err != nil {
		t.Fatal(err)
	}
	c := frames.NewConn(t.Context(), ws)
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	go func() {
		_, _ = c.Write(big)
		_ = c.CloseWrite()
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, big) {
		t.Errorf("got %d bytes and %v", len(got), err)
	}
	_ = c.Close()
	<-c.Done()
	for query, want := range map[string]string{"port=9": "connection refused", "port=0": "between 1 and 65535", "port=x": "port", "port=80&rank=1": "no such rank"} {
		_, resp, err := socket(t, hs.URL, "/api/v1/tasks/t1/port?"+query, bearerOf(w.user))
		if err == nil {
			t.Fatalf("%s: was accepted", query)
		}
		b, _ := io.ReadAll(resp.Body)
		if !strings.Contains(string(b), want) {
			t.Errorf("%s: got %s, want %q in it", query, b, want)
		}
	}
}

func TestFilesOfATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hs := w.serve(t)
	get := func(path string) (string, string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, hs.URL+"/api/v1/tasks/t1/files?path="+path, nil)
		r.Header = bearerOf(w.user)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		return string(b), resp.Trailer.Get(resultTrailer)
	}
	if body, result := get("/data"); body != "archive of /data" || result != "complete" {
		t.Errorf("got %q, %q", body, result)
	}
	if body, result := get("/torn"); body != "half" || result != "tar: Permission denied" {
		t.Errorf("got %q, %q", body, result)
	}
	if rec := w.ask(t, http.MethodPut, "/api/v1/tasks/t1/files?path=/data", w.user, "archive of /data"); rec.Code != http.StatusOK {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
	if rec := w.ask(t, http.MethodPut, "/api/v1/tasks/t1/files?path=/other", w.user, "archive of /data"); rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), "got archive of /data") {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
	if rec := w.ask(t, http.MethodGet, "/api/v1/tasks/t1/files", w.user, ""); rec.Code != http.StatusBadRequest {
		t.Errorf("got %d without a path", rec.Code)
	}
}

// A task is entered by people with a token alone: a page of another site has the cookie.
func TestWhoEntersATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hs := w.serve(t)
	const path = "/api/v1/tasks/t1/exec"
	for name, h := range map[string]http.Header{
		"cookie": {"Cookie": {"auth=" + w.admin}}, "cookie of a page": {"Cookie": {"auth=" + w.admin}, "Origin": {hs.URL}},
		"tools": bearerOf(w.tools), "page of another site": {"Authorization": {"Bearer " + w.admin}, "Origin": {"http://evil.example"}},
	} {
		if _, resp, err := socket(t, hs.URL, path, h); err == nil || resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, _, err := socket(t, hs.URL, path, bearerOf(w.admin)); err != nil {
		t.Errorf("got %v for an administrator", err)
	}
	var done, refused int
	_ = w.cfg.Audit.ReadEntries(t.Context(), AuditQuery{}, func(e *apiv1.AuditEntry) error {
		if e.GetAction() == "task.exec" && e.GetOutcome() == "done" {
			done++
		} else if e.GetAction() == "task.exec" {
			refused++
		}
		return nil
	})
	if done != 1 || refused != 4 {
		t.Errorf("got %d entries and %d refused ones in the audit log, want 1 and 4", done, refused)
	}
}

func TestPlainRequestIsNoStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if rec := w.ask(t, http.MethodGet, "/api/v1/tasks/t1/exec", w.user, ""); rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), "websocket") {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
}
