package into_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/dockertest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// OpenSSH logs in to shells by their names, copies files and forwards ports, whatever runs the tasks.
func TestShellsWithOpenSSH(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	for _, name := range []string{"ssh", "scp", "sftp"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed; run: apt-get install openssh-client")
		}
	}
	for runtime, begin := range map[string]func(*testing.T) *world{"process": newWorld, "docker": newDockerWorld} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			h := newHost(begin(t))
			t.Run("programs", func(t *testing.T) { h.on(t).programs() })
			t.Run("a terminal", func(t *testing.T) { h.on(t).terminal() })
			t.Run("files", func(t *testing.T) { h.on(t).files() })
			t.Run("a port", func(t *testing.T) { h.on(t).port() })
			t.Run("twenty logins", func(t *testing.T) { h.on(t).logins() })
			t.Run("task run -i", func(t *testing.T) { h.on(t).input() })
			h.end()
		})
	}
}

// newDockerWorld is newWorld with tasks in containers of Docker.
func newDockerWorld(t *testing.T) *world {
	t.Helper()
	docker := dockertest.Start(t)
	w := &world{Cluster: clustertest.New(t, clustertest.Config{
		Env:    []string{"DOCKER_HOST=" + docker.Host},
		Master: "task_container_defaults:\n  network_mode: host\n  image: " + dockertest.Image + "\n",
		Agent:  "container_runtime: docker\n",
	})}
	w.begin()
	return w
}

// host is a shell with a name for ssh.
type host struct {
	t    *testing.T
	w    *world
	file string
}

func newHost(w *world) *host {
	w.T.Helper()
	w.Env = append(w.Env, "XDG_STATE_HOME="+filepath.Join(w.Dir, "state"))
	w.post("shells", `{"config": {"resources": {"slots": 0}, "description": "Train one"}}`)
	w.Write("hosts", w.Run("ssh-config"))
	h := &host{w.T, w, filepath.Join(w.Dir, "hosts")}
	w.Eventually("the shell runs", patience, func() error {
		out, err := h.command("ssh", "det-train-one", "true").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	return h
}

func (h *host) on(t *testing.T) *host { return &host{t, h.w, h.file} }

// command is a program of OpenSSH.
func (h *host) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	h.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, name, append([]string{"-F", h.file, "-o", "BatchMode=yes"}, args...)...)
	c.Env, c.Dir = append(h.w.Env, "XDG_CONFIG_HOME="+filepath.Join(h.w.Dir, "config")), h.t.TempDir()
	return c
}

// must runs a program that must succeed.
func (h *host) must(c *exec.Cmd, input string) string {
	h.t.Helper()
	if c.Stdin == nil {
		c.Stdin = strings.NewReader(input)
	}
	out, err := c.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%v: %v: %s", c.Args, err, out)
	}
	return string(out)
}

func (h *host) programs() {
	if out := h.must(h.command("ssh", "det-train-one", "tr a-z A-Z; pwd"), "input "); !strings.HasPrefix(out, "INPUT /") {
		h.t.Errorf("got %q", out)
	}
	err := h.command("ssh", "det-train-one", "exit 7").Run()
	if failed, is := errors.AsType[*exec.ExitError](err); !is || failed.ExitCode() != 7 {
		h.t.Errorf("got %v, want code 7", err)
	}
}

func (h *host) terminal() {
	c := h.command("ssh", "-tt", "det-train-one", `echo ready; until [ "$(stty size 2>&1)" = "33 91" ]; do sleep 0.1; done; echo sized`)
	f, err := pty.StartWithSize(c, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var seen bytes.Buffer
	until := func(want string) {
		b := make([]byte, 1)
		for !strings.Contains(seen.String(), want) {
			if _, err := f.Read(b); err != nil {
				h.t.Fatalf("got %q and %v, want %q", seen.String(), err, want)
			}
			seen.Write(b)
		}
	}
	until("ready")
	if err := pty.Setsize(f, &pty.Winsize{Cols: 91, Rows: 33}); err != nil {
		h.t.Fatal(err)
	}
	until("sized")
	_, _ = io.Copy(io.Discard, f)
	if err := c.Wait(); err != nil {
		h.t.Error(err)
	}
}

func (h *host) files() {
	here, content := h.t.TempDir(), make([]byte, 5<<20+3)
	_, _ = rand.Read(content)
	sub := filepath.Join(here, "tree", "sub dir")
	if err := errors.Join(os.MkdirAll(sub, 0o755), os.WriteFile(filepath.Join(sub, "it's; $(odd)"), content, 0o755)); err != nil {
		h.t.Fatal(err)
	}
	h.must(h.command("scp", "-q", "-r", filepath.Join(here, "tree"), "det-train-one:copied"), "")
	h.must(h.command("scp", "-q", "-r", "det-train-one:copied", filepath.Join(here, "back")), "")
	h.must(h.command("sftp", "-b", "-", "det-train-one"), "lcd "+here+"\nmkdir other\nput -r tree other\nrename other/tree other/named\nget -r other/named sent\nls -l other/named\nrm other/named/sub\\ dir/*\n")
	for _, name := range []string{"back", "sent"} {
		got, err := os.ReadFile(filepath.Join(here, name, "sub dir", "it's; $(odd)"))
		if err != nil || !bytes.Equal(got, content) {
			h.t.Errorf("%s: got %d bytes and %v", name, len(got), err)
		}
	}
	if out := h.must(h.command("ssh", "det-train-one", `ls "other/named/sub dir"`), ""); out != "" {
		h.t.Errorf("got %q in an empty directory", out)
	}
}

// port asks the master from inside the task.
func (h *host) port() {
	master, err := url.Parse(h.w.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	out := h.must(h.command("ssh", "-W", "localhost:"+master.Port(), "det-train-one"), "GET /health HTTP/1.0\r\n\r\n")
	if !strings.HasPrefix(out, "HTTP/1.0 200 OK") {
		h.t.Errorf("got %q", out)
	}
}

func (h *host) logins() {
	var work sync.WaitGroup
	for i := range 20 {
		c := h.command("ssh", "det-train-one", "cat")
		work.Go(func() {
			want := fmt.Sprintf("login %d", i)
			c.Stdin = strings.NewReader(want)
			if out, err := c.CombinedOutput(); err != nil || string(out) != want {
				h.t.Errorf("got %q and %v, want %q", out, err, want)
			}
		})
	}
	work.Wait()
}

// input passes an archive to a task that has its input from the start.
func (h *host) input() {
	if err := os.WriteFile(filepath.Join(h.w.Dir, "packed"), nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
	c := h.command("sh")
	c.Args = []string{"sh", "-c", `tar c -C "$1" packed | "$2" task run --slots 0 --quiet -i -- tar t`, "sh", h.w.Dir, h.w.Bin}
	if out := h.must(c, ""); !strings.Contains(out, "packed\n") {
		h.t.Errorf("got %q", out)
	}
}

// end kills the shell while somebody is logged in.
func (h *host) end() {
	h.t.Helper()
	c := h.command("ssh", "det-train-one", "echo in; exec sleep 1000")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		h.t.Fatal(err)
	}
	h.w.Run("task", "kill", "Train one")
	if err := c.Wait(); err == nil {
		h.t.Error("the login ended well")
	}
	h.w.Eventually("the key is removed", patience, func() error {
		left, err := filepath.Glob(filepath.Join(h.w.Dir, "state", "det-deploy", "ssh", "*", "det-*"))
		if len(left) > 0 {
			return fmt.Errorf("%q", left)
		}
		return err
	})
}
