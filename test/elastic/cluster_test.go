package elastic_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/dettest"
)

// password is that of both built-in users.
const password = "Correct-Horse-7"

// address is the URL of the master in the lab.
const address = "https://" + booter.Gateway + ":8443"

// binary builds det-deploy once for all tests of this package.
var binary = clustertest.Program

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // it is the main of the tests

// site is the emulated cloud of a master.
type site interface {
	// command returns a command in the lab with the credentials of the master's machine.
	command(ctx context.Context, program string, args ...string) *exec.Cmd
	// machines returns the IDs of all machines of the cloud, and whether each is booting or
	// running.
	machines(t testing.TB) map[string]bool
}

// cluster is a master in a lab whose emulated cloud boots real machines.
type cluster struct {
	*booter.Booter
	t    *testing.T
	lab  *booter.Lab
	site site
	dir  string
	det  *dettest.Server
	// scheme is "https", or "http" without TLS.
	scheme string

	master *exec.Cmd
}

// newCluster prepares a cluster; the caller sets its site and its Booter.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	lab := booter.OpenLab(t)
	det := dettest.StartServer(t, func(program string, args ...string) *exec.Cmd { return lab.Command(t.Context(), program, args...) })
	return &cluster{t: t, lab: lab, dir: t.TempDir(), det: det, scheme: "https"}
}

// launch starts the master with a configuration file.
func (c *cluster) launch(yaml string) {
	c.t.Helper()
	if err := os.WriteFile(c.path("master.yaml"), []byte(yaml), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(c.stop)
	c.start()
}

// url returns the URL of the master.
func (c *cluster) url() string {
	if c.scheme == "http" {
		return "http://" + booter.Gateway + ":8080"
	}
	return address
}

func indent(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ") + "\n"
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// start starts the master and waits until it answers.
func (c *cluster) start() {
	c.t.Helper()
	bin, err := binary()
	if err != nil {
		c.t.Fatal(err)
	}
	log, err := os.OpenFile(c.path("master.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the master has its own
	c.master = c.site.command(c.t.Context(), bin, "master", "run", "--config-file", c.path("master.yaml"))
	c.master.Env = append(c.master.Env, "HOME="+c.dir)
	c.master.Stdout, c.master.Stderr = log, log
	c.master.Cancel = func() error { return nil } // the clean-up stops it
	if err := c.master.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.eventually("the master answers", time.Minute, func() error {
		out, err := c.curl("/healthz")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// curl sends a request to the master from within the lab.
func (c *cluster) curl(path string) (string, error) {
	args := []string{"-sf", "-m", "5", c.url() + path}
	if c.scheme == "https" {
		args = append(args, "--cacert", c.path("master/tls/ca.crt"))
	}
	out, err := c.lab.Command(c.t.Context(), "curl", args...).CombinedOutput()
	return string(out), err
}

// kill sends SIGKILL to the master.
func (c *cluster) kill() {
	_ = c.master.Process.Kill() // it may have exited
	_ = c.master.Wait()
}

func (c *cluster) stop() {
	if c.master != nil && c.master.ProcessState == nil {
		_ = c.master.Process.Signal(syscall.SIGTERM)
		_ = c.master.Wait() // its log has the exit status
	}
	if c.t.Failed() {
		log, _ := os.ReadFile(c.path("master.log"))
		c.t.Logf("the master's log:\n%s", tail(log, 12000))
	}
}

func tail(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// client runs det for the master.
func (c *cluster) client(stdin string, args ...string) (string, error) {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "DET_MASTER=" + c.url(), "DET_USER=admin", "DET_PASS=" + password,
	}
	if c.scheme == "https" {
		env = append(env, "DET_MASTER_CERT_FILE="+c.path("master/tls/ca.crt"))
	}
	out, errs, err := c.det.Run(c.t.Context(), stdin, env, args...)
	if err != nil {
		return out, fmt.Errorf("det %s: %w\n%s%s", strings.Join(args, " "), err, out, errs)
	}
	return out, nil
}

func (c *cluster) ok(args ...string) string {
	c.t.Helper()
	out, err := c.client("", args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// program runs our own client as the administrator.
func (c *cluster) program(args ...string) string {
	c.t.Helper()
	bin, err := binary()
	if err != nil {
		c.t.Fatal(err)
	}
	run := func(stdin string, args ...string) string {
		cmd := c.lab.Command(c.t.Context(), bin, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "NO_COLOR=1"}
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			c.t.Fatalf("det-deploy %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run(password+"\n", "login", "admin", "--master", address, "--ca-file", c.path("master/tls/ca.crt"), "--name", "lab", "--password-stdin")
	return run("", args...)
}

// run submits a command that needs a machine, and returns its ID.
func (c *cluster) run(script string) string {
	c.t.Helper()
	out := c.ok("cmd", "run", "--detach", "--config", "resources.slots=1", "sh", "-c", script)
	fields := strings.Fields(out)
	return fields[len(fields)-1]
}

// logs waits until a task's log contains a text.
func (c *cluster) logs(task, want string) {
	c.t.Helper()
	c.eventually("task "+task+" writes "+want, 4*time.Minute, func() error {
		out, err := c.client("", "task", "logs", task)
		if err == nil && !strings.Contains(out, want) {
			err = errors.New(string(tail([]byte(out), 2000)))
		}
		return err
	})
}

// machines waits until n machines are running.
func (c *cluster) machines(n int, limit time.Duration) (ids []string) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%d machines run", n), limit, func() error {
		ids = nil
		for id, alive := range c.site.machines(c.t) {
			if alive {
				ids = append(ids, id)
			}
		}
		if len(ids) != n {
			return fmt.Errorf("there are %v", ids)
		}
		return nil
	})
	return ids
}

func (c *cluster) eventually(what string, limit time.Duration, try func() error) {
	c.t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	c.t.Fatalf("%s: not within %s: %v", what, limit, err)
}
