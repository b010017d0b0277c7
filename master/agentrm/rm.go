// Package agentrm runs tasks on agents: machines that connect to the master and
// wait to be told what to run. It keeps who is connected, what runs where and
// who waits, asks master/pool what should happen, and sees to it that it does,
// through broken links, lost machines and its own restarts.
//
// RM only passes on. Its parts, each of which uses those below it:
//
//	connections   links from the first byte to the last: who may connect, the hello
//	inbox         what agents say after that
//	scheduler     passes over all pools: asks master/pool and carries out
//	roster        agents: they connect, are lost, drained, sick, switched, removed
//	runner        allocations: placed ones are stored, started, signalled and ended
//	records       what outlives the master
//	state         what is known now: agents, allocations, containers, jobs
//
// Whatever is known has one mutex, state.mu. A part holds it for what it decides, and
// never while it waits for a disk, a link or the owner of the tasks: that is done in
// lanes, in order within an allocation and side by side across allocations.
package agentrm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// RM is the resource manager for agents. Make one with New, start it with Run,
// and serve it at /agents, where agents connect.
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
	_ http.Handler       = (*RM)(nil)
)

// New returns a resource manager that knows nothing yet; Restore reads what an
// earlier one has stored. The error says what is wrong with c.
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

// Restore reads what an earlier master has stored. It is called once, before Run.
func (r *RM) Restore(ctx context.Context) error { return r.records.restoreAll(ctx) }

// Run places tasks until ctx ends. It returns when every link is closed and
// nothing is under way any more; containers go on, and a later Run finds them.
// Restore must have been called, and the owner of the tasks must be ready to
// be told of changes.
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

// startServing continues what was left unfinished, and lets agents connect.
func (r *RM) startServing(now time.Time) error {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.running {
		return errors.New("run agent pools: they are running already")
	}
	r.state.running = true
	r.state.beginOnce()
	r.roster.resumeAgents(now)
	r.runner.resumeAllocations()
	return nil
}

// stopServing drops all links and waits until they are closed.
func (r *RM) stopServing() {
	r.roster.dropLinks("the master stops")
	r.connections.closeAll("the master stops")
}

// ServeHTTP is the place where agents connect.
func (r *RM) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.connections.ServeHTTP(w, req) }

// Ready returns nil once a pass over all pools was made after it was asked, which a
// loop that is stuck or has not begun never does; ctx bounds the wait.
func (r *RM) Ready(ctx context.Context) error { return r.scheduler.waitForPass(ctx) }

// Agents implements rm.Machines.
func (r *RM) Agents() []*apiv1.Agent { return r.state.listAgents() }

// SetAgent implements rm.Machines. The switch is stored before it is answered,
// and outlives the agent's and the master's restarts.
func (r *RM) SetAgent(ctx context.Context, id rm.AgentID, s rm.Switch) (*apiv1.Agent, error) {
	return r.roster.switchAgent(ctx, id, s)
}

// SetSlot implements rm.Machines, like SetAgent.
func (r *RM) SetSlot(ctx context.Context, id rm.AgentID, slot int, s rm.Switch) (*apiv1.Slot, error) {
	return r.roster.switchSlot(ctx, id, slot, s)
}

// Expel is Lose for an agent that must not come back: it is told so, and its link is
// cut whether or not it reads that.
func (r *RM) Expel(id rm.AgentID, reason string) {
	r.connections.dropPreparing(id, reason)
	r.roster.expelAgent(id, reason)
}

// Remove is Lose for a machine that is gone for good, as launched machines are:
// nothing is kept for its return. An agent that is still there is told that this
// was intended, and shuts down without a complaint.
func (r *RM) Remove(id rm.AgentID, reason string) { r.roster.removeAgent(id, reason) }

// Retire keeps an agent from getting anything new, because its machine is to
// go, and says how many containers it has. It is no operator's switch: it is not
// stored, and holds whether or not the agent is connected.
func (r *RM) Retire(id rm.AgentID) (containers int) { return r.roster.retireAgent(id) }

// Unretire takes Retire back.
func (r *RM) Unretire(id rm.AgentID) { r.roster.unretireAgent(id) }
