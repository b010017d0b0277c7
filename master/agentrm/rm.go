// Package agentrm runs tasks on agents: machines that connect to the master and wait for orders. It
// keeps track of connections, running containers and waiting allocations, asks master/pool for
// decisions, and carries them out through broken links, lost machines and restarts of the master.
//
// RM only delegates. Each of its parts uses those below it:
//
//	connections   links from the first byte to the last: admission, the hello
//	inbox         messages of agents after that
//	scheduler     passes over all pools: asks master/pool and carries out decisions
//	roster        agents: connected, lost, draining, sick, disabled, removed
//	runner        allocations: placed ones are stored, started, signalled and ended
//	records       the state that outlives the master
//	streams       streams into containers, and the websockets of agents for them
//	state         the current agents, allocations, containers and jobs
//
// All state has one mutex, state.mu. A part holds it to make decisions, but never while it waits for a
// disk, a link or the owner of the tasks: such work is done in lanes, in order within an allocation and
// concurrently across allocations.
package agentrm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// RM is the resource manager for agents. Create one with New, start it with Run, and serve it at
// /agents and below, where agents connect.
type RM struct {
	state       *state
	records     *records
	runner      *runner
	roster      *roster
	scheduler   *scheduler
	connections *connections
}

var (
	_ rm.ResourceManager = (*RM)(nil)
	_ rm.Machines        = (*RM)(nil)
	_ rm.Remarks         = (*RM)(nil)
	_ rm.Forecasts       = (*RM)(nil)
	_ rm.Streams         = (*RM)(nil)
	_ http.Handler       = (*RM)(nil)
)

// New returns an empty resource manager; Restore reads the records of an earlier one. New returns an
// error if c is invalid.
func New(c Config) (*RM, error) {
	c = c.withDefaults()
	if err := c.checkConfig(); err != nil {
		return nil, err
	}
	s := newState(c)
	d := &records{state: s, store: c.Store}
	run := &runner{state: s, records: d, tasks: tasksOf(c)}
	ros := &roster{state: s, records: d, runner: run, arriving: make(map[rm.AgentID]bool)}
	return &RM{
		state: s, records: d, runner: run, roster: ros,
		scheduler:   &scheduler{state: s, runner: run, roster: ros},
		connections: newConnections(s, ros, &inbox{state: s, records: d, runner: run, roster: ros}),
	}, nil
}

// Restore reads the records of an earlier master. It is called once, before Run.
func (r *RM) Restore(ctx context.Context) error { return r.records.restoreAll(ctx) }

// Run places tasks until ctx is done. It returns when every link is closed and all work has stopped;
// containers continue to run, and a later Run finds them. Restore must have been called, and the owner
// of the tasks must be ready to receive events.
func (r *RM) Run(ctx context.Context) error {
	if err := r.startServing(time.Now()); err != nil {
		return err
	}
	defer r.stopServing()
	r.connections.acceptAgents()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.state.passes.Run(ctx, r.scheduler.runPass) })
	g.Go(func() error { r.connections.watch.Run(ctx); return nil })
	g.Go(func() error { r.state.work.Run(ctx); return nil })
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run agent pools: %w", err)
	}
	return nil
}

// startServing resumes unfinished work, and allows agents to connect.
func (r *RM) startServing(now time.Time) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.running {
		return errors.New("cannot run agent pools: they are already running")
	}
	r.state.running = true
	r.state.beginOnce()
	r.roster.resumeAgents(now)
	r.runner.resumeAllocations()
	return nil
}

// stopServing closes all links and streams, and waits until they are closed.
func (r *RM) stopServing() {
	r.state.streams.Stop("the master is stopping")
	r.roster.dropLinks("the master is stopping")
	r.connections.closeAll("the master is stopping")
}

// ServeHTTP serves the connections of agents: their links, and their streams into containers.
func (r *RM) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, id, found := strings.Cut(req.URL.Path, agentv1.StreamsPath); found {
		r.state.streams.ServeStream(w, req, id)
		return
	}
	r.connections.ServeHTTP(w, req)
}

// Ready returns nil once a pass over all pools that began after the call has ended, or ctx's error if it
// ends first, because the loop is stuck or has not begun.
func (r *RM) Ready(ctx context.Context) error { return r.scheduler.waitForPass(ctx) }

// Agents implements rm.Machines.
func (r *RM) Agents() []*apiv1.Agent { return r.state.listAgents() }

// SetAgent implements rm.Machines. The switch is stored before SetAgent returns, and outlives restarts
// of the agent and the master.
func (r *RM) SetAgent(ctx context.Context, id rm.AgentID, s rm.Switch) (*apiv1.Agent, error) {
	return r.roster.switchAgent(ctx, id, s)
}

// SetSlot implements rm.Machines, like SetAgent.
func (r *RM) SetSlot(ctx context.Context, id rm.AgentID, slot int, s rm.Switch) (*apiv1.Slot, error) {
	return r.roster.switchSlot(ctx, id, slot, s)
}

// Expel removes an agent that must not come back: it receives the reason, and its link is cut whether or
// not it reads that.
func (r *RM) Expel(id rm.AgentID, reason string) {
	r.connections.dropPreparing(id, reason)
	r.roster.expelAgent(id, reason)
}

// Remove removes the agent of a machine that is permanently gone: no state is kept for its return. If
// the agent is still connected, it is asked to shut down, which is not an error for it.
func (r *RM) Remove(id rm.AgentID, reason string) { r.roster.removeAgent(id, reason) }

// Retire keeps an agent from getting new work, because its machine is to be removed, and returns the
// number of its containers. Unlike an operator's switch it is not stored. It applies whether or not the
// agent is connected.
func (r *RM) Retire(id rm.AgentID) (containers int) { return r.roster.retireAgent(id) }

// Unretire reverts Retire.
func (r *RM) Unretire(id rm.AgentID) { r.roster.unretireAgent(id) }
