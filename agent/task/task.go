// Package task runs one container of a task for an agent: from the order on disk, over
// its files and what the machine refuses it, to the end that the master has heard of.
package task

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/disk"
	"github.com/det-deploy/det-deploy/agent/journal"
	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Config is what tasks need of their agent.
type Config struct {
	Runtime container.Runtime
	// Guard keeps tasks from what would give them the machine.
	Guard Guard
	// Host waits for the first welcome and returns what tasks learn of their host.
	Host func(context.Context) (Host, error)
	// Client asks the master, whose URL has no path, for the files of a task.
	Client *http.Client
	Master string
	// Changed is called with a container's id after every change that the master
	// should hear of, and Passing after one that another follows soon.
	Changed, Passing func(id string)
	// Failed is called with why a container did not start, and Started when one did.
	Failed  func(error)
	Started func()
	// Keep leaves ended containers for people to look at.
	Keep bool
	Log  *slog.Logger
}

// Task is one container of this agent, from the order on disk until the
// master has heard its end. One goroutine runs it; sessions read its state.
type Task struct {
	Order   *agentv1.Start
	Journal *journal.Journal
	Log     *slog.Logger
	cfg     Config
	entry   disk.Entry

	// poke tells of a wish to end the container.
	poke chan struct{}

	// mu guards what follows.
	mu        sync.Mutex
	state     disk.State
	addresses []container.Address
	acked     uint64 // lines that the master has
	unread    string // why lines could not be read back
	forgotten bool
	ran       bool               // the master knows that it ran
	asked     bool               // the runtime may have been asked to start it
	giveUp    context.CancelFunc // ends a start that is no longer wanted
	endLife   context.CancelFunc // ends all that is done for the container; nil before
	enforce   func()             // has a wish to end the running container carried out
}

// Open makes the task of an order on disk. Asked says that an earlier agent may have
// started its container.
func Open(cfg Config, entry disk.Entry, o *agentv1.Start, asked bool) (*Task, error) {
	state := entry.State()
	j, err := entry.Journal()
	if err != nil {
		return nil, err
	}
	if state.AtMicros == 0 {
		state.AtMicros = time.Now().UnixMicro() // it is not known, as after a write that was cut short
	}
	if o.GetRerun() && entry.Silenced() && state.State != lifecycle.Terminated {
		state.Silent, state.KillAtMicros = true, time.Now().UnixMicro()
	}
	return &Task{
		Order: o, Journal: j, cfg: cfg, entry: entry, state: state, asked: asked,
		Log:  cfg.Log.With("container", o.GetContainerId(), "allocation", o.GetAllocationId()),
		poke: make(chan struct{}, 1),
	}, nil
}

// ID is the container's.
func (u *Task) ID() string { return u.Order.GetContainerId() }

// View is what a session sees of a unit.
type View struct {
	State     disk.State
	Addresses []container.Address
	Lines     uint64
	Acked     uint64
	Unread    string
	Forgotten bool
}

// View is what the task is now.
func (u *Task) View() View {
	u.mu.Lock()
	defer u.mu.Unlock()
	return View{
		State: u.state, Addresses: u.addresses, Lines: u.Journal.Next(), Acked: u.acked, Unread: u.unread,
		Forgotten: u.forgotten,
	}
}

// advanceTo moves to a later state, on disk first. A state that the unit is in
// already is no step; an agent that was killed while it pulled pulls again.
func (u *Task) advanceTo(to lifecycle.State, exit *lifecycle.Exit, addresses []container.Address) {
	passing := to == lifecycle.Pulling || to == lifecycle.Starting
	u.mu.Lock()
	s := u.state
	next, err := s.State.To(to)
	if err == nil {
		s.State, s.AtMicros, s.Exit = next, time.Now().UnixMicro(), exit
		u.state = s
		u.addresses = addresses
		// On the way to Running there is nothing to remember: a restarted
		// agent begins again, and writing is most of what a short task costs.
		if !passing {
			u.saveState()
		}
	}
	u.mu.Unlock()
	switch {
	case err != nil:
		u.Log.Debug("no step", "err", err)
	case passing:
		u.Log.Debug("container has changed", "state", string(to))
		u.cfg.Passing(u.ID())
	default:
		u.Log.Info("container has changed", "state", string(to))
		u.cfg.Changed(u.ID())
	}
}

// saveState stores the state; the caller holds mu, so that states reach the disk in
// their order. Where that fails the task continues in memory: a full disk is no reason
// to lose a running task, and a restarted agent learns the rest from the runtime. Until
// the next state is stored, the order on disk keeps its tokens.
func (u *Task) saveState() {
	if err := u.entry.SetState(u.state); err != nil {
		u.Log.Error("cannot write state; a restarted agent may not know it", "err", err)
	}
}

// RequestEnd is the master's wish that the container end: politely, and by force
// after grace, where -1 is never.
func (u *Task) RequestEnd(politely bool, grace time.Duration) {
	u.mu.Lock()
	if u.state.State == lifecycle.Terminated {
		u.mu.Unlock()
		return
	}
	u.state.Terminate = u.state.Terminate || politely
	if grace >= 0 {
		at := time.Now().Add(grace).UnixMicro()
		if u.state.KillAtMicros == 0 || at < u.state.KillAtMicros {
			u.state.KillAtMicros = at
		}
	}
	u.saveState()
	giveUp := u.giveUp
	if u.enforce != nil {
		u.enforce()
	}
	u.mu.Unlock()
	if giveUp != nil {
		giveUp()
	}
	select {
	case u.poke <- struct{}{}:
	default:
	}
}

// endWanted says that an end was asked for, or that the master does not know it.
func (u *Task) endWanted() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state.Terminate || u.state.KillAtMicros != 0 || u.forgotten
}

// mayHaveStarted says that only the runtime knows whether the container runs.
func (u *Task) mayHaveStarted() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked
}

// setAsked notes that the runtime is asked now.
func (u *Task) setAsked() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = true
}

// Forget forgets the unit, running or not.
func (u *Task) Forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forgotten = true
	if u.endLife != nil {
		u.endLife()
	}
}

// AckLogs says that the master has the lines before next.
func (u *Task) AckLogs(next uint64) {
	u.mu.Lock()
	u.acked = max(u.acked, min(next, u.Journal.Next()))
	acked := u.acked
	u.mu.Unlock()
	// Without the lock: a disk may take long, and sessions ask how the unit is.
	if err := u.Journal.Release(acked); err != nil {
		u.Log.Warn("cannot give back the room of log lines that the master has", "err", err)
	}
}

// SetAcked takes the last state that the master has stored: a container that
// ran is not started again, even if this disk does not know.
func (u *Task) SetAcked(acked apiv1.Container_State) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ran = u.ran || acked >= apiv1.Container_STATE_RUNNING
}

func (u *Task) hasRun() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ran || u.state.State == lifecycle.Running
}

// SetUnread notes why the output of the container cannot be read to its end.
func (u *Task) SetUnread(why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unread = why
}
