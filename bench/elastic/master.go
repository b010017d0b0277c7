package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

const password = "Correct-Horse-7"

// master is one with a pool whose agents it launches, in a folder that goes with
// it.
type master struct {
	dir, url string
	cmd      *exec.Cmd
	api      *client.Client
}

func start(ctx context.Context, bin string, n size) (*master, error) {
	dir, err := os.MkdirTemp("", "det-deploy-bench-")
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("bind_ip: 127.0.0.1\nport: %s\ndata_dir: %s/master\nsecurity: {initial_user_password: %s}\n"+
		"resource_pools: [{pool_name: default, provider: {type: local, artificial_slots: 1, max_instances: %d, max_idle_agent_period: 10s}}]\n",
		port, dir, password, n.agents)
	if err := os.WriteFile(filepath.Join(dir, "master.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "master.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	m := &master{dir: dir, url: "http://127.0.0.1:" + port}
	m.cmd = exec.CommandContext(ctx, bin, "master", "run", "--config-file", dir+"/master.yaml")
	m.cmd.Stdout, m.cmd.Stderr = log, log
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	return m, m.login(ctx)
}

func (m *master) login(ctx context.Context) error {
	api, err := client.New(client.Config{URL: m.url})
	if err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < 30*time.Second; wait(ctx, 10*time.Millisecond) {
		var in *apiv1.LoginResponse
		if in, err = api.Login(ctx, "admin", password); err == nil {
			m.api, err = client.New(client.Config{URL: m.url, Token: in.GetToken()})
			return err
		}
	}
	return err
}

// run submits short tasks of one slot and returns how long it took until the
// last had ended.
func (m *master) run(ctx context.Context, n int) (time.Duration, error) {
	began := time.Now()
	config, err := structpb.NewStruct(map[string]any{
		"entrypoint": []any{"true"}, "resources": map[string]any{"slots": 1},
	})
	if err != nil {
		return 0, err
	}
	g, submitting := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for range n {
		g.Go(func() error {
			_, err := m.api.Launch(submitting, &apiv1.LaunchCommandRequest{Config: config})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	for ; ctx.Err() == nil; wait(ctx, 20*time.Millisecond) {
		left, err := m.api.Tasks(ctx)
		if err != nil {
			return 0, err
		}
		if len(left) == 0 {
			return time.Since(began), nil
		}
	}
	return 0, ctx.Err()
}

// empty waits until the last machine is gone.
func (m *master) empty(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < 10*time.Minute; wait(ctx, time.Second) {
		pools, err := m.api.Pools(ctx)
		if err != nil {
			return err
		}
		c := pools[0].GetMachines()
		if c.GetLaunching()+c.GetStarting()+c.GetJoined()+c.GetLost()+c.GetDraining()+c.GetTerminating() == 0 {
			return nil
		}
	}
	return fmt.Errorf("machines are left; see %s", m.dir)
}

// figures are read from the master's metrics.
type figures struct{ quick, all, calls float64 }

func (m *master) metrics(ctx context.Context) (figures, error) {
	var f figures
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/metrics", nil)
	if err != nil {
		return f, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return f, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, _ := strconv.ParseFloat(text, 64)
		switch {
		case strings.HasPrefix(name, "det_deploy_machine_launch_wait_seconds_bucket") && strings.Contains(name, `le="0.25"`):
			f.quick += value
		case strings.HasPrefix(name, "det_deploy_machine_launch_wait_seconds_count"):
			f.all += value
		case strings.HasPrefix(name, "det_deploy_machine_calls_total"):
			f.calls += value
		}
	}
	return f, lines.Err()
}

// cpu is the processor time that the master has used, from the kernel, which
// counts in hundredths of a second.
func (m *master) cpu() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.cmd.Process.Pid))
	fields := strings.Fields(string(text))
	if len(fields) < 15 {
		return 0
	}
	user, _ := strconv.Atoi(fields[13])
	system, _ := strconv.Atoi(fields[14])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (m *master) stop() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
	_ = os.RemoveAll(m.dir)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
