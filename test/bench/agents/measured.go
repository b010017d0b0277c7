package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/bench/master"
	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// patience is the limit until all agents are connected; after it the benchmark fails.
const patience = 3 * time.Minute

// figures belongs to one number of agents. Processor times are the sum over all agents.
type figures struct {
	join, back cost
	// quiet is the processor time for agents without tasks, as a fraction of a core.
	quiet float64
	// memory is the growth of private bytes over the master without agents; private is the total.
	memory, private int64
	// list is the processor time of one list request with all agents connected.
	list time.Duration
	// written is the growth of the store's files while idle.
	written int64
}

// cost is the time until all agents were connected and the processor time of both sides.
type cost struct{ took, master, agents time.Duration }

// measureAgents starts a master for n agents and restarts it while they are connected.
func measureAgents(ctx context.Context, o options, n int) (f figures, err error) {
	start := master.Start
	if o.encrypted {
		start = master.StartEncrypted
	}
	m, err := start(ctx, o.bin, "")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	ctx, cancel := context.WithCancel(ctx)
	var crowd *agents
	defer func() {
		cancel()
		if crowd != nil {
			crowd.running.Wait()
			err = errors.Join(err, os.RemoveAll(crowd.dir))
		}
	}()
	if crowd, err = crowdOf(ctx, m); err != nil {
		return f, err
	}
	master.Pause(ctx, 8*time.Second) // the memory of the login is released
	before, err := m.Pages()
	if err != nil {
		return f, err
	}
	token, err := m.API.CreateJoinToken(ctx, &apiv1.CreateJoinTokenRequest{ResourcePool: "default", ValidForSeconds: 3600})
	if err != nil {
		return f, err
	}
	f.join, err = during(m, func() error {
		if err := crowd.start(ctx, n, token.GetToken()); err != nil {
			return err
		}
		return crowd.await(ctx, int64(n), int64(n), patience)
	})
	if err == nil {
		err = f.measureQuiet(ctx, m, before.Private, o.quiet)
	}
	if err == nil {
		err = f.measureList(ctx, m, n)
	}
	if err == nil {
		f.back, err = measureReturn(ctx, m, crowd, o.bin, n)
	}
	return f, err
}

func crowdOf(ctx context.Context, m *master.Master) (*agents, error) {
	var info struct{ Version string }
	if err := m.Ask(ctx, http.MethodGet, "master", nil, &info); err != nil {
		return nil, err
	}
	return newAgents(m.URL(), info.Version, m.Authority())
}

// during measures the cost of do for the master and for this process.
func during(m *master.Master, do func() error) (c cost, err error) {
	own, theirs, began := measure.Processor(), m.Processor(), time.Now()
	err = do()
	return cost{time.Since(began), m.Processor() - theirs, measure.Processor() - own}, err
}

// measureQuiet measures a master whose agents are idle.
func (f *figures) measureQuiet(ctx context.Context, m *master.Master, rest int64, lasting time.Duration) error {
	master.Pause(ctx, 10*time.Second) // the work of joining has ended and its memory is released
	size, err := m.StoreSize()
	if err != nil {
		return err
	}
	cpu, began := m.Processor(), time.Now()
	master.Pause(ctx, lasting)
	f.quiet = (m.Processor() - cpu).Seconds() / time.Since(began).Seconds()
	pages, err := m.Pages()
	if err != nil {
		return err
	}
	f.private, f.memory = pages.Private, pages.Private-rest
	after, err := m.StoreSize()
	f.written = after - size
	return err
}

// measureList lists all agents, as the cluster page does.
func (f *figures) measureList(ctx context.Context, m *master.Master, n int) error {
	const times = 20
	cpu := m.Processor()
	for range times {
		var answer struct{ Agents []struct{ ID string } }
		if err := m.Ask(ctx, http.MethodGet, "agents", nil, &answer); err != nil {
			return err
		}
		if len(answer.Agents) != n {
			return fmt.Errorf("%d agents are listed, want %d", len(answer.Agents), n)
		}
	}
	f.list = (m.Processor() - cpu) / times
	return nil
}

// measureReturn restarts the master. It measures from the start of the process until all agents are
// reconnected.
func measureReturn(ctx context.Context, m *master.Master, crowd *agents, bin string, n int) (cost, error) {
	welcomed := crowd.welcomed.Load()
	own, began := time.Duration(0), time.Time{}
	_, err := m.Restart(ctx, bin, "", func(string) error {
		own, began = measure.Processor(), time.Now()
		return nil
	})
	if err != nil {
		return cost{}, err
	}
	err = crowd.await(ctx, int64(n), welcomed+int64(n), patience)
	return cost{time.Since(began), m.Processor(), measure.Processor() - own}, err
}

// print prints the figures beside the promised ones.
func (f figures) print(n int, say sayer) {
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	line := func(what, promise string, c cost) {
		say(fmt.Sprintf("%d agents %s", n, what), "%.1f s%s; processor time of the master %.2f s, %.0f µs each; of all agents %.2f s, %.0f µs each",
			c.took.Seconds(), promise, c.master.Seconds(), each(c.master), c.agents.Seconds(), each(c.agents))
	}
	line("joining", "", f.join)
	say(fmt.Sprintf("%d agents connected, private memory of the master", n), "%d MB, %.1f KB each (promise for 10,000: 600 MB)",
		f.private>>20, float64(f.memory)/1024/float64(n))
	say(fmt.Sprintf("%d agents without tasks", n), "%.2f %% of a core (promise for 10,000: 5), the store grew by %d bytes", 100*f.quiet, f.written)
	say(fmt.Sprintf("%d agents listed once", n), "%.1f ms of processor time", f.list.Seconds()*1000)
	line("back after a restart of the master", " (promise for 10,000: 30)", f.back)
}
