package pods_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/rest"
)

func TestStreamsOnARealNode(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	m := onNodeWith(t, func(*pods.Config) {})
	id := m.does(`mkdir -p /tmp/www && echo served > /tmp/www/page; httpd -p 127.0.0.1:8080 -h /tmp/www; trap 'exit 0' TERM; while true; do sleep 0.1; done`, `{"spec": {"terminationGracePeriodSeconds": 3}}`)
	w := m.await(id, "it runs", runs(1))
	c := w.assigned[0].ID

	t.Run("exec", func(t *testing.T) { testExec(t, m, c) })
	t.Run("dial", func(t *testing.T) { testDial(t, m, c) })
	t.Run("files", func(t *testing.T) { testFiles(t, m, c) })
	t.Run("shell", func(t *testing.T) { testShell(t, m, c) })

	if _, err := m.rm.Exec(t.Context(), "unknown", stream.Program{Argv: []string{"true"}}); !errors.Is(err, rm.ErrNotRunning) {
		t.Errorf("got %v for an unknown container", err)
	}
	held, err := m.rm.Exec(t.Context(), c, stream.Program{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.rm.Kill(t.Context(), id, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	if w := m.await(id, "it has ended", over); !w.end.Stopped {
		t.Errorf("got %+v for a program that exits with 0 upon SIGTERM, want that it was told to", w.end)
	}
	_, _ = held.Wait() // ends with the container
	_ = held.Close()
	if _, err := m.rm.Exec(t.Context(), c, stream.Program{Argv: []string{"true"}}); !errors.Is(err, rm.ErrNotRunning) {
		t.Errorf("got %v for a container that has ended", err)
	}
}

// output runs a program with an input.
func output(t *testing.T, m *master, c rm.ContainerID, p stream.Program, input string) (stdout, stderr string, code int) {
	t.Helper()
	x, err := m.rm.Exec(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	go func() {
		_, _ = io.WriteString(x, input)
		_ = x.CloseWrite()
	}()
	said := make(chan string)
	go func() { b, _ := io.ReadAll(x.Stderr()); said <- string(b) }()
	b, err := io.ReadAll(x.Stdout())
	if err != nil {
		t.Error(err)
	}
	stderr = <-said
	if code, err = x.Wait(); err != nil {
		t.Error(err)
	}
	return string(b), stderr, code
}

func testExec(t *testing.T, m *master, c rm.ContainerID) {
	out, said, code := output(t, m, c, stream.Program{Argv: []string{"sh", "-c", "cat; echo problem >&2; exit 3"}}, "some input")
	if out != "some input" || said != "problem\n" || code != 3 {
		t.Errorf("got %q, %q and %d", out, said, code)
	}
	big := strings.Repeat("0123456789abcdef", 1<<16)
	if out, _, code := output(t, m, c, stream.Program{Argv: []string{"cat"}}, big); out != big || code != 0 {
		t.Errorf("got %d bytes and %d, want %d", len(out), code, len(big))
	}
	if out, _, _ := output(t, m, c, stream.Program{Argv: []string{"sh", "-c", `until [ "$(stty size 2>&1)" = "33 91" ]; do sleep 0.1; done; echo sized`}, Terminal: &stream.Size{Columns: 91, Rows: 33}}, ""); out != "sized\r\n" {
		t.Errorf("got %q on a terminal, want its size", out)
	}
	if _, said, code := output(t, m, c, stream.Program{Argv: []string{"nonexistent"}}, ""); code != 127 || !strings.Contains(said, "not found") {
		t.Errorf("got %d and %q for a program that does not exist", code, said)
	}
	x, err := m.rm.Exec(t.Context(), c, stream.Program{Argv: []string{"sh", "-c", "trap 'echo interrupted; exit 7' INT; echo ready; while :; do :; done"}})
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(x.Stdout(), line); err != nil {
		t.Fatal(err)
	}
	if err := x.Signal("INT"); err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(x.Stdout())
	if code, err := x.Wait(); code != 7 || err != nil || string(b) != "interrupted\n" {
		t.Errorf("got %d, %v and %q after a signal", code, err, b)
	}
	x, err = m.rm.Exec(t.Context(), c, stream.Program{Argv: []string{"sleep", "98765"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	m.c.Await("a closed program has ended", func() error {
		if out, _, _ := output(t, m, c, stream.Program{Argv: []string{"ps"}}, ""); strings.Contains(out, "98765") {
			return errors.New(out)
		}
		return nil
	})
}

func testDial(t *testing.T, m *master, c rm.ContainerID) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	client.Transport.(*http.Transport).DialContext = dialer(m, c)
	m.c.Await("the server answers", func() error {
		r, err := client.Get("http://task:8080/page")
		if err != nil {
			return err
		}
		defer func() { _ = r.Body.Close() }()
		if b, err := io.ReadAll(r.Body); err != nil || string(b) != "served\n" {
			return fmt.Errorf("got %q and %w", b, err)
		}
		return nil
	})
	x, err := m.rm.Dial(t.Context(), c, 8080)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	_, _ = io.WriteString(x, "GET /page HTTP/1.0\r\n\r\n")
	if err := x.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
	if b, err := io.ReadAll(x); err != nil || !strings.HasSuffix(string(b), "served\n") {
		t.Errorf("got %q and %v", b, err)
	}
	closed, err := m.rm.Dial(t.Context(), c, 9)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closed.Close() }()
	if _, err := io.ReadAll(closed); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v for a port on which nothing listens", err)
	}
}

func testFiles(t *testing.T, m *master, c rm.ContainerID) {
	var b bytes.Buffer
	a := tar.NewWriter(&b)
	_ = a.WriteHeader(&tar.Header{Name: "sub/file", Mode: 0o640, Size: 5, Typeflag: tar.TypeReg})
	_, _ = io.WriteString(a, "hello")
	_ = a.Close()
	if err := m.rm.WriteFiles(t.Context(), c, "/tmp", &b); err != nil {
		t.Fatal(err)
	}
	r, err := m.rm.ReadFiles(t.Context(), c, "/tmp/sub")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Error(err)
	}
	if got := strings.Join(names, " "); got != "sub/ sub/file" {
		t.Errorf("got an archive of %q", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.rm.ReadFiles(t.Context(), c, "/tmp/none"); err == nil || err.Error() != "/tmp/none: no such file or directory in the container" {
		t.Errorf("got %v", err)
	}
	if err := m.rm.WriteFiles(t.Context(), c, "/none", bytes.NewReader(nil)); err == nil || err.Error() != "/none: no such file or directory in the container" {
		t.Errorf("got %v", err)
	}
}

func dialer(m *master, c rm.ContainerID) func(ctx context.Context, _, _ string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return m.rm.Dial(ctx, c, 8080) }
}
