package experiment_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/port"
	"github.com/det-deploy/det-deploy/test/rest"
)

// The client's tunnels reach TCP ports of trials and of commands.
func TestPublishedPorts(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	l := openLab(t, options{slots: 2})
	const program = "testdata/publish"
	config := func(p int, more string) string {
		file := filepath.Join(t.TempDir(), "config.yaml")
		text := fmt.Sprintf("environment: {proxy_ports: [{proxy_port: %d, proxy_tcp: true}]}\n%s", p, more)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}

	inside, here := port.Free(t), port.Free(t)
	file := config(inside, fmt.Sprintf("name: published\nentrypoint: python3 serve.py %d\nsearcher: {name: single, metric: x}\nmax_restarts: 0\n", inside))
	type result struct {
		out string
		err error
	}
	followed := make(chan result, 1)
	go func() {
		out, err := l.det.Exec("", "experiment", "create", file, program, "--follow-first-trial", "--publish", fmt.Sprintf("%d:%d", here, inside))
		followed <- result{out, err}
	}()
	// The client does not end if a connection was refused, as before the program listens.
	l.Eventually("the program listens", patience, func() error {
		out, err := l.det.Exec("", "trial", "logs", "1")
		if err == nil && !strings.Contains(out, "listening") {
			err = errors.New(out)
		}
		return err
	})
	l.says(here, "hello", "HELLO")
	l.says(here, "quit", "QUIT")
	select {
	case r := <-followed:
		if r.err != nil || !strings.Contains(r.out, "listening") {
			t.Errorf("got %v and %s", r.err, r.out)
		}
	case <-time.After(patience):
		t.Error("the client does not end with the trial")
	}

	inside, here = port.Free(t), port.Free(t)
	out := l.det.OK("", "command", "run", "--detach", "--config-file", config(inside, "resources: {slots: 0}\n"), "--context", program, "python3", "serve.py", strconv.Itoa(inside))
	id := strings.Fields(out)[len(strings.Fields(out))-1]
	tunnel := l.det.Python("-m", "determined.cli.tunnel", "--auth", "--listener", strconv.Itoa(here), l.URL, fmt.Sprintf("%s:%d", id, inside))
	if err := tunnel.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = tunnel.Process.Kill(), tunnel.Wait() }) // it runs until then
	l.says(here, "hello", "HELLO")
	l.RestartMaster()
	l.says(here, "again", "AGAIN")
}

// says waits until a line that is sent to a port here is answered.
func (l *lab) says(at int, line, want string) {
	l.t.Helper()
	l.Eventually("the program answers "+line, patience, func() error {
		conn, err := (&net.Dialer{}).DialContext(l.t.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(at)))
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // then the next connection is tried
		if _, err := io.WriteString(conn, line+"\n"); err != nil {
			return err
		}
		got, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && got != want+"\n" {
			l.t.Fatalf("got %q, want %s", got, want)
		}
		return err
	})
}
