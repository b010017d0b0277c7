package containertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// entranceRules are the rules of runtimes that reach into running containers.
var entranceRules = []rule{
	{"a program inside ends with its code", bench.insideCodes},
	{"a program inside is the container's user, in its directory, with its variables", bench.insideSurroundings},
	{"input ends when it is closed, and both outputs arrive", bench.insideStreams},
	{"a terminal has a size, which changes", bench.insideTerminal},
	{"a terminal's keys interrupt", bench.insideKeys},
	{"a signal reaches a program and its children", bench.insideSignals},
	{"a big output waits for a slow reader", bench.insideBigOutput},
	{"closing ends what runs inside", bench.insideClose},
	{"the end of a program ends what it left behind", bench.insideLeftovers},
	{"the end of a container ends what runs inside", bench.insideEnd},
	{"what does not run cannot be entered", bench.insideAbsent},
	{"a restarted agent enters what runs", bench.insideRestart},
	{"a port at loopback is reached, and a closed one refused", bench.insidePorts},
}

func (b bench) entrance() container.Entrance {
	b.t.Helper()
	e, ok := b.r.(container.Entrance)
	if !ok {
		b.t.Fatalf("%T is no container.Entrance", b.r)
	}
	return e
}

// exec starts a script in a container, and closes its stream at the end of the test.
func (b bench) exec(id, script string, terminal *stream.Size) stream.Process {
	b.t.Helper()
	p, err := b.entrance().Exec(b.ctx, id, stream.Program{Argv: []string{"sh", "-c", script}, Terminal: terminal})
	if err != nil {
		b.t.Fatalf("start %q in %s: %v", script, id, err)
	}
	stop := context.AfterFunc(b.ctx, func() { _ = p.Close() }) // so that no read outlives the deadline
	b.t.Cleanup(func() {
		stop()
		if err := p.Close(); err != nil {
			b.t.Errorf("close %q: %v", script, err)
		}
	})
	return p
}

// result is the outcome of a program inside.
type result struct {
	stdout, stderr string
	code           int
}

// finish reads the outputs of a program and waits for its end.
func (b bench) finish(p stream.Process) result {
	b.t.Helper()
	var r result
	var g errgroup.Group
	g.Go(func() error {
		data, err := io.ReadAll(p.Stdout())
		r.stdout = string(data)
		return err
	})
	g.Go(func() error {
		data, err := io.ReadAll(p.Stderr())
		r.stderr = string(data)
		return err
	})
	if err := g.Wait(); err != nil {
		b.t.Fatalf("read the output: %v", err)
	}
	var err error
	if r.code, err = p.Wait(); err != nil {
		b.t.Fatalf("wait: %v after %+v", err, r)
	}
	return r
}

func (b bench) inside(id, script string) result {
	b.t.Helper()
	return b.finish(b.exec(id, script, nil))
}

func (b bench) insideCodes() {
	b.start("codes", "sleep 600")
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "exit 255": 255, "kill -9 $$": 137, "kill $$": 143} {
		if got := b.inside("codes", script); got.code != want {
			b.t.Errorf("%s: got %+v, want code %d", script, got, want)
		}
	}
	p, err := b.entrance().Exec(b.ctx, "codes", stream.Program{Argv: []string{"/no/such/program"}})
	if err != nil {
		return // a sentence is as good
	}
	defer func() { _ = p.Close() }()
	if got := b.finish(p); got.code != 127 && got.code != 126 {
		b.t.Errorf("no program: got %+v, want code 127", got)
	}
}

func (b bench) insideSurroundings() {
	const script = `pwd; id -u; id -g; echo "$WHO"; echo "$QUOTED"; umask; ulimit -n`
	spec := b.s.Spec("surroundings", script+"; sleep 600")
	spec.Env = append(spec.Env, "WHO=me", `QUOTED=it's "so" $HOME`)
	b.startSpec(spec)
	lines := strings.Count(script, ";") + 1
	var own []string
	errEnough := errors.New("enough")
	err := b.r.Logs(b.ctx, "surroundings", container.Position{}, func(more []container.Line) error {
		if own = append(own, texts(more, "")...); len(own) == lines {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		b.t.Fatal(err)
	}
	if got := b.inside("surroundings", script); got.stdout != strings.Join(own, "\n")+"\n" {
		b.t.Errorf("got %+v, want what the container's program has: %q", got, own)
	}
}

func (b bench) insideStreams() {
	b.start("streams", "sleep 600")
	p := b.exec("streams", "cat; echo end >&2; exit 4", nil)
	text := strings.Repeat("0123456789abcde\n", 64<<10)
	var g errgroup.Group
	g.Go(func() error {
		_, err := io.Copy(p, strings.NewReader(text))
		return errors.Join(err, p.CloseWrite())
	})
	got := b.finish(p)
	if err := g.Wait(); err != nil {
		b.t.Error(err)
	}
	if got.stdout != text || got.stderr != "end\n" || got.code != 4 {
		b.t.Errorf("got %d bytes, %q and code %d", len(got.stdout), got.stderr, got.code)
	}
}

// awaitText reads from r until it has found a text.
func (b bench) awaitText(r io.Reader, text string) {
	b.t.Helper()
	var all []byte
	buf := make([]byte, 1) // what follows is for others
	for !bytes.Contains(all, []byte(text)) {
		n, err := r.Read(buf)
		all = append(all, buf[:n]...)
		if err != nil {
			b.t.Fatalf("got %q and %v before %q", all, err, text)
		}
	}
}

func (b bench) insideTerminal() {
	b.start("terminal", "sleep 600")
	p := b.exec("terminal", `test -t 0 && test -t 1 && test -t 2 && echo terminal; while :; do stty size; read line || exit 6; done`,
		&stream.Size{Columns: 81, Rows: 25})
	b.awaitText(p.Stdout(), "terminal")
	b.awaitSize(p, "25 81")
	if err := p.Resize(stream.Size{Columns: 133, Rows: 51}); err != nil {
		b.t.Fatal(err)
	}
	b.awaitSize(p, "51 133")
	if err := p.CloseWrite(); err != nil {
		b.t.Fatal(err)
	}
	if got := b.finish(p); got.code != 6 || got.stderr != "" {
		b.t.Errorf("got %+v, want code 6 at the end of the input", got)
	}
}

// awaitSize asks for the size until it is as wanted: whoever relays it may take a moment.
func (b bench) awaitSize(p stream.Process, want string) {
	b.t.Helper()
	asking, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(asking)
		for {
			_, _ = p.Write([]byte("\n"))
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	b.awaitText(p.Stdout(), want)
	close(stop)
	<-asking
}

func (b bench) insideKeys() {
	b.start("keys", "sleep 600")
	p := b.exec("keys", `trap 'echo trapped; exit 5' INT; echo ready; while :; do :; done`, &stream.Size{Columns: 80, Rows: 24})
	b.awaitText(p.Stdout(), "ready")
	if _, err := p.Write([]byte{3}); err != nil {
		b.t.Fatal(err)
	}
	if got := b.finish(p); got.code != 5 || !strings.Contains(got.stdout, "trapped") {
		b.t.Errorf("got %+v, want code 5", got)
	}
}

func (b bench) insideSignals() {
	b.start("signals", "sleep 600")
	p := b.exec("signals", `trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done`, nil)
	b.awaitText(p.Stdout(), "ready")
	if err := p.Signal("STOP"); err == nil {
		b.t.Error("an unknown signal is no error")
	}
	if err := p.Signal("USR1"); err != nil {
		b.t.Fatal(err)
	}
	if got := b.finish(p); got.code != 9 {
		b.t.Errorf("got %+v, want code 9", got)
	}
	p = b.exec("signals", `echo ready; sleep 600; echo 'it runs on'`, nil)
	b.awaitText(p.Stdout(), "ready")
	if err := p.Signal("KILL"); err != nil {
		b.t.Fatal(err)
	}
	if got := b.finish(p); got.code != 137 {
		b.t.Errorf("got %+v, want code 137", got)
	}
}

func (b bench) insideBigOutput() {
	const size = 16 << 20
	b.start("big", "sleep 600")
	p := b.exec("big", fmt.Sprintf("head -c %d /dev/zero; echo end >&2", size), nil)
	var g errgroup.Group
	g.Go(func() error {
		_, err := io.Copy(io.Discard, p.Stderr())
		return err
	})
	got, buf := 0, make([]byte, 4<<10)
	for {
		n, err := p.Stdout().Read(buf)
		if got += n; err != nil {
			break
		}
		if got%(1<<20) < n { // sixteen times
			if err := wait.For(b.ctx, 10*time.Millisecond); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	_ = g.Wait()
	if code, err := p.Wait(); err != nil || code != 0 || got != size {
		b.t.Errorf("got %d bytes, code %d, %v", got, code, err)
	}
}

// gone waits until no process has a text in its command line.
func (b bench) gone(id, text string) {
	b.t.Helper()
	for {
		got := b.inside(id, `cat /proc/[0-9]*/cmdline 2>/dev/null; true`)
		if !strings.Contains(got.stdout, text) {
			return
		}
		if err := wait.For(b.ctx, 50*time.Millisecond); err != nil {
			b.t.Fatalf("a process with %q is left: %q", text, got.stdout)
		}
	}
}

func (b bench) insideClose() {
	b.start("close", "sleep 600")
	for _, terminal := range []*stream.Size{nil, {Columns: 80, Rows: 24}} {
		p := b.exec("close", `trap '' HUP TERM INT; (sleep 600.125; true) & echo ready; sleep 600.125; true`, terminal)
		b.awaitText(p.Stdout(), "ready")
		if err := p.Close(); err != nil {
			b.t.Fatal(err)
		}
		if code, err := p.Wait(); err == nil && code != 137 {
			b.t.Errorf("got code %d after closing", code)
		}
		b.gone("close", "600.125")
	}
	b.phase(b.r, "close", container.Running)
	// One that writes what nobody reads.
	p := b.exec("close", `while :; do echo 600.225; done`, nil)
	b.awaitText(p.Stdout(), "600.225")
	if err := p.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.gone("close", "600.225")
}

func (b bench) insideLeftovers() {
	b.start("leftovers", "sleep 600")
	p := b.exec("leftovers", `trap '' HUP; sleep 600.375 >/dev/null 2>&1 </dev/null & exit 3`, nil)
	if got := b.finish(p); got.code != 3 {
		b.t.Errorf("got %+v, want code 3", got)
	}
	b.gone("leftovers", "600.375")
	b.phase(b.r, "leftovers", container.Running)
}

func (b bench) insideEnd() {
	for id, end := range map[string]func() error{
		"killed": func() error { return b.r.Signal(b.ctx, "killed", container.Kill) },
		"asked":  func() error { return b.r.Signal(b.ctx, "asked", container.Terminate) },
	} {
		b.start(id, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done")
		b.awaitLine(b.r, id, "ready")
		var all []stream.Process
		for range 3 {
			p := b.exec(id, "trap '' TERM; echo ready; while :; do sleep 600.625; done", nil)
			b.awaitText(p.Stdout(), "ready")
			all = append(all, p)
		}
		if err := end(); err != nil {
			b.t.Fatal(err)
		}
		for _, p := range all {
			_, _ = io.Copy(io.Discard, p.Stdout())
			if code, err := p.Wait(); !errors.Is(err, container.ErrNotRunning) {
				b.t.Errorf("%s: got code %d, %v, want that the container has ended", id, code, err)
			}
		}
	}
}

func (b bench) insideAbsent() {
	b.start("over", "exit 0")
	b.wait(b.r, "over", 0)
	e := b.entrance()
	for _, id := range []string{"over", "unknown"} {
		for what, do := range map[string]func() error{
			"exec": func() error {
				_, err := e.Exec(b.ctx, id, stream.Program{Argv: []string{"true"}})
				return err
			},
			"dial":  func() error { _, err := e.Dial(b.ctx, id, 8080); return err },
			"read":  func() error { _, err := e.ReadFiles(b.ctx, id, "/etc/hosts"); return err },
			"write": func() error { return e.WriteFiles(b.ctx, id, "/tmp", strings.NewReader("")) },
		} {
			if err := do(); !errors.Is(err, container.ErrNotRunning) {
				b.t.Errorf("%s of %s: got %v, want ErrNotRunning", what, id, err)
			}
		}
	}
}

func (b bench) insideRestart() {
	b.start("restart", "sleep 600")
	b.r = b.s.Again(b.t, b.r)
	if got := b.inside("restart", "echo in; exit 7"); got != (result{stdout: "in\n", code: 7}) {
		b.t.Errorf("got %+v", got)
	}
}

// freePort returns a port at which nobody listens on this machine.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not connect
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func (b bench) insidePorts() {
	port := freePort(b.t)
	b.start("port", fmt.Sprintf("echo there >page; exec busybox httpd -f -p 127.0.0.1:%d", port))
	var conn net.Conn
	for conn == nil {
		var err error
		if conn, err = b.entrance().Dial(b.ctx, "port", port); err == nil {
			break
		}
		b.phase(b.r, "port", container.Running)
		if !strings.Contains(err.Error(), "connection refused") {
			b.t.Fatal(err)
		}
		if err := wait.For(b.ctx, 50*time.Millisecond); err != nil {
			b.t.Fatal(err)
		}
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("GET /page HTTP/1.0\r\n\r\n")); err != nil {
		b.t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		b.t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(got), "\r\n\r\nthere\n") {
		b.t.Errorf("got %q, %v", got, err)
	}
	closed := freePort(b.t)
	want := fmt.Sprintf("connect to port %d of the container: connection refused", closed)
	if _, err := b.entrance().Dial(b.ctx, "port", closed); err == nil || err.Error() != want {
		b.t.Errorf("got %v, want %s", err, want)
	}
	if _, err := b.entrance().Dial(b.ctx, "port", 65536); err == nil || !strings.Contains(err.Error(), "between 1 and 65535") {
		b.t.Errorf("got %v, want a sentence about the port", err)
	}
}
