// Package tasks measures the master's cost of a task, from its submission over HTTP until its end
// is stored, in resource pools of very different sizes. The agents are connections that answer each
// message immediately.
package tasks

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/master"
)

var program = flag.String("bin", "../../../bin/det-deploy", "the program to measure")

const (
	// callers is the number of concurrent clients; each submits its next task when the last has
	// ended.
	callers = 64
	// most is the promised processor time of the master for a task, for any size of the pool.
	most = 2 * time.Millisecond
	// noise covers the resolution of the kernel's processor time and the master's background work.
	noise = 500 * time.Microsecond
)

// BenchmarkTasks runs short tasks on pools of 10, 100 and 1,000 connected agents. It fails if a
// task of a large pool costs more than 1.5 times as much as one of a small pool.
func BenchmarkTasks(b *testing.B) {
	costs := map[int]time.Duration{}
	for _, agents := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("%d_agents", agents), func(b *testing.B) {
			costs[agents] = openPool(b, agents).measure(b)
			b.ReportMetric(float64(costs[agents])/float64(most), "of-the-promise")
		})
	}
	if small, large := costs[10], costs[1000]; small > 0 && large > small*3/2+noise {
		b.Errorf("a task costs the master %v with 10 agents and %v with 1,000", small, large)
	}
}

// pool is a master with connected agents.
type pool struct {
	*master.Master
	fleet *fleet
}

func openPool(b *testing.B, agents int) *pool {
	b.Helper()
	bin, err := filepath.Abs(*program)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		b.Skip("there is no program; run: make build")
	}
	m, err := master.Start(b.Context(), bin, "")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.Stop(); err != nil {
			b.Error(err)
		}
	})
	m.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	f, err := connectFleet(b.Context(), m, bin, agents)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(f.hangUp)
	p := &pool{m, f}
	if err := p.runTasks(b.Context(), 2*callers); err != nil { // warm up
		b.Fatal(err)
	}
	return p
}

// perRound is the number of tasks of one iteration: enough for a clock of hundredths of a second.
const perRound = 1000

func (p *pool) measure(b *testing.B) time.Duration {
	b.Helper()
	before := p.Processor()
	b.ResetTimer()
	for range b.N {
		if err := p.runTasks(b.Context(), perRound); err != nil {
			b.Fatal(err)
		}
	}
	n := b.N * perRound
	cost := (p.Processor() - before) / time.Duration(n)
	b.ReportMetric(cost.Seconds()*1000, "ms-of-the-master/task")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "tasks/s")
	return cost
}

// runTasks submits n tasks and waits until all have ended. It returns the first error.
func (p *pool) runTasks(ctx context.Context, n int) error {
	var wg sync.WaitGroup
	failures := make(chan error, callers)
	for range callers {
		wg.Go(func() {
			for range n / callers {
				if err := p.runTask(ctx); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	return <-failures
}

// runTask submits one task and waits until the master has acknowledged its end.
func (p *pool) runTask(ctx context.Context) error {
	var made struct{ Command struct{ ID string } }
	body := map[string]any{"config": map[string]any{"entrypoint": []string{"true"}, "resources": map[string]any{"slots": 1}}}
	if err := p.Ask(ctx, http.MethodPost, "commands", body, &made); err != nil {
		return err
	}
	return p.fleet.awaitEnd(ctx, made.Command.ID)
}
