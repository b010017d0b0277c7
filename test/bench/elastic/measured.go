package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/bench/master"
)

// measured is a master with a resource pool whose agents it launches.
type measured struct{ *master.Master }

func start(ctx context.Context, bin string, n size) (*measured, error) {
	m, err := master.Start(ctx, bin, fmt.Sprintf(
		"resource_pools: [{pool_name: default, provider: {type: local, artificial_slots: 1, max_instances: %d, max_idle_agent_period: 10s}}]", n.agents))
	return &measured{m}, err
}

// run submits n short tasks of one slot and returns the time until the last has ended.
func (m *measured) run(ctx context.Context, n int) (time.Duration, error) {
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
			_, err := m.API.Launch(submitting, &apiv1.LaunchCommandRequest{Config: config})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	for ; ctx.Err() == nil; master.Pause(ctx, 20*time.Millisecond) {
		left, err := m.API.Tasks(ctx)
		if err != nil {
			return 0, err
		}
		if len(left) == 0 {
			return time.Since(began), nil
		}
	}
	return 0, ctx.Err()
}

// empty waits until the last machine is removed.
func (m *measured) empty(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < 10*time.Minute; master.Pause(ctx, time.Second) {
		pools, err := m.API.Pools(ctx)
		if err != nil {
			return err
		}
		c := pools[0].GetMachines()
		if c.GetLaunching()+c.GetStarting()+c.GetJoined()+c.GetLost()+c.GetDraining()+c.GetTerminating() == 0 {
			return nil
		}
	}
	return fmt.Errorf("machines are left; see %s", m.Dir)
}

// figures are read from the master's metrics.
type figures struct{ quick, all, calls float64 }

func (m *measured) metrics(ctx context.Context) (figures, error) {
	var f figures
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL()+"/metrics", nil)
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
