package process

import (
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container/inside"
)

// Agents that may not enter a network connect through a program in the container.
func TestDialThroughAProgram(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	r := newPlain(t)
	if err := start(t, r, script("relay", "sleep 600")); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go echo(l)
	port := l.Addr().(*net.TCPAddr).Port
	conn, err := inside.DialThrough(t.Context(), r.execFor("relay"), port)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("there and back\n", 100_000)
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if got, err := io.ReadAll(conn); err != nil || string(got) != text {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(text))
	}
	idle, err := inside.DialThrough(t.Context(), r.execFor("relay"), port)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(conn.Close(), idle.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if _, err := inside.DialThrough(t.Context(), r.execFor("relay"), port); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("got %v, want it refused", err)
	}
	without := script("without", "sleep 600")
	without.Env = []string{"PATH=/no/such"}
	without.Command[0] = "/bin/sh"
	without.Command[2] = "exec /bin/sleep 600"
	if err := start(t, r, without); err != nil {
		t.Fatal(err)
	}
	if _, err := inside.DialThrough(t.Context(), r.execFor("without"), port); !errors.Is(err, inside.ErrNoPython) {
		t.Errorf("got %v, want that there is no python3", err)
	}
}

// echo sends back what it receives.
func echo(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}()
	}
}
