package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/port"
)

// password is the one of both built-in users in the clusters below.
const password = "Correct-Horse-7"

// binary, older and newer build det-deploy once for all tests of this package, the
// latter two under versions of their own.
var (
	binary = sync.OnceValues(func() (string, error) { return build() })
	older  = sync.OnceValues(func() (string, error) { return build("-ldflags", versionFlag+"v1.0.0") })
	newer  = sync.OnceValues(func() (string, error) { return build("-ldflags", versionFlag+"v1.1.0") })
)

const versionFlag = "-X github.com/det-deploy/det-deploy/cmd/internal/build.version="

func build(flags ...string) (string, error) {
	dir, err := os.MkdirTemp("", "det-deploy-bin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "det-deploy")
	cmd := exec.Command("go", append([]string{"build", "-o", path}, append(flags, ".")...)...)
	// As make builds it: with cgo, which the race detector needs, Go would compile
	// everything once more.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}

// cluster is a real master and real agents, as processes that a test may kill.
type cluster struct {
	t   *testing.T
	bin string
	dir string
	url string
	env []string

	master *exec.Cmd
	agents map[string]*exec.Cmd
}

// clusterConfig is what a test varies.
type clusterConfig struct {
	// Master is added to master.yaml, Agent to every agent.yaml.
	Master string
	Agent  string
	// Env is added to the environment of both.
	Env []string
}

func newCluster(t *testing.T, cfg clusterConfig) *cluster {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(port.Free(t))
	c := &cluster{
		t: t, bin: bin, dir: t.TempDir(), url: "http://127.0.0.1:" + port, agents: map[string]*exec.Cmd{},
		env: append(os.Environ(), cfg.Env...),
	}
	c.write("master.yaml", fmt.Sprintf("port: %s\ndata_dir: %s\nsecurity:\n  initial_user_password: %s\n%s",
		port, filepath.Join(c.dir, "master"), password, cfg.Master))
	c.write("agent.yaml", fmt.Sprintf("master_host: 127.0.0.1\nmaster_port: %s\n%s", port, cfg.Agent))
	t.Cleanup(c.stop)
	return c
}

func (c *cluster) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// startMaster returns when the master answers.
func (c *cluster) startMaster() {
	c.t.Helper()
	c.master = c.spawn("master", "master", "run", "--config-file", filepath.Join(c.dir, "master.yaml"))
	c.eventually("the master answers", time.Minute, func() error {
		resp, err := http.Get(c.url + "/healthz")
		if err != nil {
			return err
		}
		defer resp.Body.Close() //nolint:errcheck // only the status matters
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
}

// startAgent starts an agent whose state is kept under its id.
func (c *cluster) startAgent(id string, flags ...string) {
	c.t.Helper()
	token := filepath.Join(c.dir, "join-token")
	if _, err := os.Stat(token); err != nil {
		out := c.run("master", "join-token", "--config-file", filepath.Join(c.dir, "master.yaml"))
		c.write("join-token", strings.TrimSpace(out)+"\n")
	}
	args := append([]string{
		"agent", "run", "--config-file", filepath.Join(c.dir, "agent.yaml"), "--agent-id", id,
		"--data-dir", filepath.Join(c.dir, "agent-"+id), "--join-token-file", token,
	}, flags...)
	c.agents[id] = c.spawn("agent-"+id, args...)
}

func (c *cluster) spawn(name string, args ...string) *exec.Cmd {
	c.t.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the child has its own
	cmd := exec.Command(c.bin, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env, log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// kill is kill -9, and waits until the process is gone.
func kill(cmd *exec.Cmd) {
	if cmd != nil && cmd.Process != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

func (c *cluster) stop() {
	for _, a := range c.agents {
		kill(a)
	}
	kill(c.master)
	if c.t.Failed() {
		for _, name := range []string{"master", "agent-a", "agent-b"} {
			text, _ := os.ReadFile(filepath.Join(c.dir, name+".log"))
			c.t.Logf("---- %s\n%s", name, tail(text, 6000))
		}
	}
}

func tail(b []byte, n int) []byte {
	if len(b) > n {
		return b[len(b)-n:]
	}
	return b
}

// run runs the program as admin against the cluster and fails the test when
// it fails.
func (c *cluster) run(args ...string) string {
	c.t.Helper()
	out, code := c.try(args...)
	if code != 0 {
		c.t.Fatalf("det-deploy %s: exit %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// try returns stdout, followed by stderr when the exit code is not 0.
func (c *cluster) try(args ...string) (string, int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.bin, args...)
	cmd.Env = append(c.env, "DET_MASTER="+c.url, "XDG_CONFIG_HOME="+filepath.Join(c.dir, "config"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.String(), 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		c.t.Fatalf("det-deploy %s: %v", strings.Join(args, " "), err)
	}
	return stdout.String() + stderr.String(), exit.ExitCode()
}

// eventually polls until check returns nil, and fails the test with the last
// error when it does not in time.
func (c *cluster) eventually(what string, limit time.Duration, check func() error) {
	c.t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			c.t.Fatalf("%s: not within %s: %v", what, limit, err)
		case <-tick.C:
		}
	}
}
