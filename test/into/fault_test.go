package into_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/port"
	"github.com/det-deploy/det-deploy/test/rest"
)

// Whichever part is killed, the other ends of open streams end with a sentence, nothing keeps running in the
// task, and new streams work afterwards.
func TestKilledInTheMiddle(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	for name, kill := range map[string]func(w *world){
		"agent": func(w *world) {
			clustertest.Kill(w.Agents["a"])
			w.StartAgent("a", "--artificial-slots", "1")
		},
		"master": func(w *world) {
			clustertest.Kill(w.Master)
			w.StartMaster()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.serve(true)
			all := w.openAll(s)
			kill(w)
			all.end(w)
			w.Eventually("programs inside have ended", patience, func() error {
				if left := running(all.mark); len(left) > 0 {
					return fmt.Errorf("%q", left)
				}
				return nil
			})
			w.Eventually("a program runs inside again", patience, func() error {
				out, code := w.Try("task", "exec", s.task, "--", "echo", "again")
				if code != 0 || out != "again\n" {
					return fmt.Errorf("%d %s", code, out)
				}
				return nil
			})
			w.openAll(s).stop()
		})
	}
}

// streams are open streams of each kind.
type streams struct {
	// mark is in the command lines of the programs in the task.
	mark     string
	programs map[string]*program
	forward  net.Conn
	visit    *websocket.Conn
}

// program is a command of det-deploy with what it says.
type program struct {
	*exec.Cmd

	said bytes.Buffer
	// terminal is its terminal; nil without one.
	terminal *os.File
	ended    chan error
}

// start starts a command of the administrator.
func (w *world) start(terminal bool, args ...string) *program {
	w.T.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.T.Context()))
	p := &program{Cmd: exec.CommandContext(ctx, w.Bin, args...), ended: make(chan error, 1)}
	w.T.Cleanup(cancel)
	p.Env = append(w.Env, "DET_MASTER="+w.URL, "XDG_CONFIG_HOME="+filepath.Join(w.Dir, "config"))
	p.Stderr = &p.said
	var err error
	if terminal {
		p.Stderr = nil
		p.terminal, err = pty.Start(p.Cmd)
	} else {
		_, err = p.StdinPipe() // open
		if err == nil {
			err = p.Start()
		}
	}
	if err != nil {
		w.T.Fatal(err)
	}
	go func() {
		if terminal {
			_, _ = io.Copy(&p.said, p.terminal) // until it ends
		}
		p.ended <- p.Wait()
	}()
	return p
}

// openAll opens a program with and one without a terminal, a copy, a forwarded connection and a visit.
func (w *world) openAll(s service) *streams {
	w.T.Helper()
	all := &streams{mark: fmt.Sprintf("98765.%d", port.Free(w.T)), programs: map[string]*program{}}
	local := port.Free(w.T)
	big := "big-" + fmt.Sprint(local) // its name is in the command line of tar
	w.Run("task", "exec", s.task, "--", "truncate", "-s", "1T", big)
	all.programs["a terminal"] = w.start(true, "task", "exec", "-it", s.task, "--", "sleep", all.mark)
	all.programs["a program"] = w.start(false, "task", "exec", "-i", s.task, "--", "sh", "-c", "sleep "+all.mark+"; true")
	all.programs["a copy"] = w.start(false, "task", "cp", s.task+":"+big, "-")
	all.programs["a forwarded port"] = w.start(false, "task", "port-forward", s.task, fmt.Sprintf("%d:%d", local, s.port))
	w.Eventually("the programs run", patience, func() error {
		if list := running(all.mark); len(list) < 3 { // sleep twice, and a shell
			return fmt.Errorf("%q", list)
		}
		return nil
	})
	w.Eventually("the copy runs", patience, func() error {
		if len(running(big)) == 0 {
			return errors.New("tar does not run")
		}
		return nil
	})
	w.Eventually("the port is forwarded", patience, func() (err error) {
		all.forward, err = (&net.Dialer{}).DialContext(w.T.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", local))
		return err
	})
	w.T.Cleanup(func() { _ = all.forward.Close() })
	ws, _, err := websocket.Dial(w.T.Context(), w.URL+s.path(""), &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + w.token}}})
	if err != nil {
		w.T.Fatal(err)
	}
	all.visit = ws
	w.T.Cleanup(func() { _ = ws.CloseNow() })
	const request = "GET / HTTP/1.1\r\n\r\n"
	hello := make([]byte, 4)
	if _, err := io.WriteString(all.forward, request); err != nil {
		w.T.Fatal(err)
	}
	if _, err := io.ReadFull(all.forward, hello); err != nil || string(hello) != "HTTP" {
		w.T.Fatalf("got %q, %v of the forwarded port", hello, err)
	}
	if err := ws.Write(w.T.Context(), websocket.MessageBinary, []byte(request)); err != nil {
		w.T.Fatal(err)
	}
	if _, _, err := ws.Read(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
	return all
}

// end waits until all streams have ended because a part of the cluster has.
func (all *streams) end(w *world) {
	w.T.Helper()
	_ = all.forward.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, all.forward); errors.Is(err, os.ErrDeadlineExceeded) {
		w.T.Error("the forwarded connection does not end")
	}
	ctx, cancel := context.WithTimeout(w.T.Context(), patience)
	defer cancel()
	for {
		if _, _, err := all.visit.Read(ctx); err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		w.T.Error("the visit does not end")
	}
	for name, p := range all.programs {
		if name == "a forwarded port" { // it serves the next connection
			p.kill()
			continue
		}
		select {
		case err := <-p.ended:
			if said := p.said.String(); err == nil || !strings.Contains(said, "error:") || strings.Contains(said, "frame header") || strings.Contains(said, "EOF") {
				w.T.Errorf("%s: got %v and %q, want a sentence", name, err, said)
			}
		case <-time.After(patience):
			w.T.Errorf("%s does not end", name)
		}
	}
}

func (p *program) kill() {
	_ = p.Process.Kill()
	fmt.Fprintln(&p.said, <-p.ended)
}

// stop ends all streams from this side.
func (all *streams) stop() {
	for _, p := range all.programs {
		p.kill()
	}
	_ = all.forward.Close()
	_ = all.visit.CloseNow()
}

// running returns the command lines of programs in tasks with a mark, without those of the clients.
func running(mark string) (out []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, f := range files {
		line, _ := os.ReadFile(f) // it may have exited
		words := strings.ReplaceAll(strings.TrimSuffix(string(line), "\x00"), "\x00", " ")
		if strings.Contains(words, mark) && !strings.Contains(words, "task exec") && !strings.Contains(words, "task cp") {
			out = append(out, words)
		}
	}
	return out
}

// A task that ends takes its streams with it.
func TestKilledTask(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	w := newWorld(t)
	s := w.serve(true)
	before := w.open()
	all := w.openAll(s)
	for i := range 10 {
		all.programs[fmt.Sprint("program ", i)] = w.start(false, "task", "exec", "-i", s.task, "--", "sleep", all.mark)
	}
	w.Eventually("all run", patience, func() error {
		if n := len(running(all.mark)); n < 13 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	w.Run("task", "kill", s.task)
	all.end(w)
	if left := running(all.mark); len(left) > 0 {
		t.Errorf("got %q left", left)
	}
	w.holdsNothing(before)
}
