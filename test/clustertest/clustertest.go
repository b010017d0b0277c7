package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/test/port"
)

// Password is that of both built-in users.
const Password = "Correct-Horse-7"

// Cluster is a real master and real agents.
type Cluster struct {
	T   *testing.T
	Bin string
	// Dir contains all files: master.yaml, master/, agent-<id>/ and the logs.
	Dir string
	URL string
	Env []string

	Master *exec.Cmd
	Agents map[string]*exec.Cmd
	// Started is called for every process of the cluster; it may be nil.
	Started func(name string, pid int)
}

// Config changes the defaults of a cluster.
type Config struct {
	// Master is appended to master.yaml, Agent to every agent.yaml.
	Master string
	Agent  string
	// Security is appended to the section security of master.yaml.
	Security string
	// Env is added to the environment of master and agents.
	Env []string
}

// New prepares a cluster that is removed at the end of the test. It starts no process.
func New(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	bin, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(port.Free(t))
	c := &Cluster{
		T: t, Bin: bin, Dir: t.TempDir(), URL: "http://127.0.0.1:" + port, Agents: map[string]*exec.Cmd{},
		Env: append(os.Environ(), cfg.Env...),
	}
	c.Write("master.yaml", fmt.Sprintf("port: %s\ndata_dir: %s\nsecurity:\n  initial_user_password: %s\n  allow_plain_http: true\n%s%s",
		port, filepath.Join(c.Dir, "master"), Password, cfg.Security, cfg.Master))
	c.Write("agent.yaml", fmt.Sprintf("master_host: 127.0.0.1\nmaster_port: %s\n%s", port, cfg.Agent))
	t.Cleanup(c.Stop)
	return c
}

// Write writes a file into the cluster's directory.
func (c *Cluster) Write(name, text string) {
	c.T.Helper()
	if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
		c.T.Fatal(err)
	}
}

// StartMaster starts the master and waits until it answers.
func (c *Cluster) StartMaster() {
	c.T.Helper()
	c.Master = c.Spawn("master", "master", "run", "--config-file", filepath.Join(c.Dir, "master.yaml"))
	c.Eventually("the master answers", time.Minute, func() error {
		req, err := http.NewRequestWithContext(c.T.Context(), http.MethodGet, c.URL+"/healthz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
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

// JoinToken returns the path of a file with a join token, which it creates if necessary.
func (c *Cluster) JoinToken() string {
	c.T.Helper()
	path := filepath.Join(c.Dir, "join-token")
	if _, err := os.Stat(path); err != nil {
		out := c.Run("master", "join-token", "--config-file", filepath.Join(c.Dir, "master.yaml"))
		c.Write("join-token", strings.TrimSpace(out)+"\n")
	}
	return path
}

// StartAgent starts an agent whose state is stored under its ID.
func (c *Cluster) StartAgent(id string, flags ...string) {
	c.T.Helper()
	args := append([]string{
		"agent", "run", "--config-file", filepath.Join(c.Dir, "agent.yaml"), "--agent-id", id,
		"--data-dir", filepath.Join(c.Dir, "agent-"+id), "--join-token-file", c.JoinToken(),
	}, flags...)
	c.Agents[id] = c.Spawn("agent-"+id, args...)
}

// Spawn starts the program with its output in the file name.log.
func (c *Cluster) Spawn(name string, args ...string) *exec.Cmd {
	c.T.Helper()
	log, err := os.OpenFile(filepath.Join(c.Dir, name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.T.Fatal(err)
	}
	defer log.Close()                                                                //nolint:errcheck // the child has its own
	cmd := exec.CommandContext(context.WithoutCancel(c.T.Context()), c.Bin, args...) // Stop ends it
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Env, log, log
	if err := cmd.Start(); err != nil {
		c.T.Fatal(err)
	}
	if c.Started != nil {
		c.Started(name, cmd.Process.Pid)
	}
	return cmd
}

// Kill sends SIGKILL to a process and waits for its end.
func Kill(cmd *exec.Cmd) {
	if cmd != nil && cmd.Process != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// Stop kills all processes and prints the logs of a failed test.
func (c *Cluster) Stop() {
	for _, a := range c.Agents {
		Kill(a)
	}
	Kill(c.Master)
	for end := time.Now().Add(startPatience); c.startsTask() && time.Now().Before(end); <-time.After(startPause) {
	}
	c.killTasks()
	if c.T.Failed() {
		c.showLogs()
	}
}

// killTasks kills the programs of tasks, which outlive their agents.
func (c *Cluster) killTasks() {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, f := range files {
		environ, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(environ, []byte("DET_MASTER="+c.URL+"\x00")) {
			continue // it has exited, or belongs to others
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have exited
		}
	}
}

const (
	// startPatience limits the wait for a task that was starting when its agent was killed.
	startPatience = 10 * time.Second
	startPause    = 20 * time.Millisecond
)

// startsTask reports whether runc is starting a task of a killed agent: it creates directories,
// which the test is about to remove.
func (c *Cluster) startsTask() bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && bytes.HasPrefix(line, []byte("runc\x00")) && bytes.Contains(line, []byte(c.Dir+"/")) {
			return true
		}
	}
	return false
}

// logLines is the number of lines of each log that a failed test prints.
const logLines = 200

// showLogs prints the end of the logs of the master and of each agent.
func (c *Cluster) showLogs() {
	names := []string{"master"}
	for id := range c.Agents {
		names = append(names, "agent-"+id)
	}
	slices.Sort(names[1:])
	for _, name := range names {
		text, _ := os.ReadFile(filepath.Join(c.Dir, name+".log")) // it may not have been started
		c.T.Logf("---- %s\n%s", name, lastLines(string(text), logLines))
	}
}

// lastLines returns the end of a text after a line with the number of omitted lines.
func lastLines(text string, most int) string {
	lines := strings.SplitAfter(text, "\n")
	cut := max(0, len(lines)-1-most) // the last element is empty
	if cut == 0 {
		return text
	}
	return fmt.Sprintf("(%d lines before)\n", cut) + strings.Join(lines[cut:], "")
}

// Login logs in as admin for Run.
func (c *Cluster) Login() {
	c.T.Helper()
	cmd := exec.CommandContext(c.T.Context(), c.Bin, "login", "admin", "--master", c.URL, "--password-stdin")
	cmd.Env = append(c.Env, "XDG_CONFIG_HOME="+filepath.Join(c.Dir, "config"))
	cmd.Stdin = strings.NewReader(Password)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.T.Fatalf("login: %v\n%s", err, out)
	}
}

// Run runs the program as admin against the cluster. It fails the test if the program fails.
func (c *Cluster) Run(args ...string) string {
	c.T.Helper()
	out, code := c.Try(args...)
	if code != 0 {
		c.T.Fatalf("det-deploy %s: exit %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// Try runs the program and returns its stdout and exit code. If the exit code is not 0, stderr is
// appended.
func (c *Cluster) Try(args ...string) (string, int) {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(c.T.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Bin, args...)
	cmd.Env = append(c.Env, "DET_MASTER="+c.URL, "XDG_CONFIG_HOME="+filepath.Join(c.Dir, "config"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.String(), 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		c.T.Fatalf("det-deploy %s: %v", strings.Join(args, " "), err)
	}
	return stdout.String() + stderr.String(), exit.ExitCode()
}

// Eventually polls until check returns nil. It fails the test with the last error after limit.
func (c *Cluster) Eventually(what string, limit time.Duration, check func() error) {
	c.T.Helper()
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
			c.T.Fatalf("%s: not within %s: %v", what, limit, err)
		case <-tick.C:
		}
	}
}
