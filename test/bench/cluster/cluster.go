package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

const password = "Correct-Horse-7"

// cluster is a master and an agent with a directory that is removed with them.
type cluster struct {
	bin, dir, url string
	port          int
	token         string
	master, agent *exec.Cmd
	http          *http.Client
}

// Task isolation in the agent's configuration: by default tasks are isolated if the agent is root;
// with an empty task_users they never are.
const (
	isolated = ""
	plain    = "task_users: \"\"\n"
)

func newCluster(ctx context.Context, bin, isolation string) (*cluster, error) {
	dir, err := os.MkdirTemp("", "det-deploy-bench-")
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, text, _ := net.SplitHostPort(l.Addr().String())
	port, _ := strconv.Atoi(text)
	if err := l.Close(); err != nil {
		return nil, err
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return nil, err
	}
	c := &cluster{bin: bin, dir: dir, port: port, url: fmt.Sprintf("http://127.0.0.1:%d", port)}
	c.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	master := fmt.Sprintf("port: %d\ndata_dir: %s/master\nsecurity: {initial_user_password: %s, allow_plain_http: true}\n"+
		"resource_pools: [{pool_name: default, max_aux_containers_per_agent: 64}]\n", port, dir, password)
	agent := fmt.Sprintf("master_host: 127.0.0.1\nmaster_port: %d\ncontainer_runtime: process\ntrust_users: true\nagent_id: bench\n"+
		"data_dir: %s/agent\njoin_token_file: %s/token\n%s", port, dir, dir, isolation)
	for name, text := range map[string]string{"master.yaml": master, "agent.yaml": agent} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *cluster) spawn(ctx context.Context, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, c.bin, args...)
	log, err := os.Create(filepath.Join(c.dir, args[0]+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, cmd.Start()
}

// startMaster starts the master and returns the time from the start of the process to its first
// healthy answer.
func (c *cluster) startMaster(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	var err error
	if c.master, err = c.spawn(ctx, "master", "run", "--config-file", c.dir+"/master.yaml"); err != nil {
		return 0, err
	}
	for ctx.Err() == nil && time.Since(start) < 30*time.Second {
		if _, err := c.call(ctx, "GET", "/healthz", nil); err == nil {
			return time.Since(start), c.login(ctx)
		}
		_ = wait.For(ctx, 2*time.Millisecond)
	}
	return 0, fmt.Errorf("the master does not answer; see %s/master.log", c.dir)
}

func (c *cluster) startAgent(ctx context.Context) error {
	token, err := exec.CommandContext(ctx, c.bin, "master", "join-token", "--config-file", c.dir+"/master.yaml").Output()
	if err != nil {
		return fmt.Errorf("ask for a join token: %w", err)
	}
	if err := os.WriteFile(c.dir+"/token", token, 0o600); err != nil {
		return err
	}
	if c.agent, err = c.spawn(ctx, "agent", "run", "--config-file", c.dir+"/agent.yaml"); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < 20*time.Second; _ = wait.For(ctx, 10*time.Millisecond) {
		if b, err := c.call(ctx, "GET", "/api/v1/agents", nil); err == nil && bytes.Contains(b, []byte(`"bench"`)) {
			return nil
		}
	}
	return fmt.Errorf("the agent does not join; see %s/agent.log", c.dir)
}

func (c *cluster) login(ctx context.Context) error {
	b, err := c.call(ctx, "POST", "/api/v1/auth/login", map[string]any{"username": "admin", "password": password})
	if err != nil {
		return err
	}
	var reply struct{ Token string }
	err = json.Unmarshal(b, &reply)
	c.token = reply.Token
	return err
}

func (c *cluster) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, payload)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.http.Do(req)
}

func (c *cluster) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	resp, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, b)
	}
	return b, err
}

// resident returns the resident set size of the master in megabytes, as the kernel reports it.
func (c *cluster) resident() int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.master.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kb / 1024
		}
	}
	return -1
}

func (c *cluster) stop() {
	for _, cmd := range []*exec.Cmd{c.agent, c.master} {
		if cmd != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	_ = os.RemoveAll(c.dir)
}
