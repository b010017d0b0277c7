// Package task runs the container of a task on an agent: it checks the order, prepares the files,
// starts the container and reports its exit until the master acknowledges it.
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

// Config configures tasks.
type Config struct {
	Runtime container.Runtime
	// Guard protects the machine from mounts and devices of tasks.
	Guard Guard
	// Host waits for the first welcome and returns the description of the host.
	Host func(context.Context) (Host, error)
	// Client requests the files of a task from Master, a URL without a path.
	Client *http.Client
	Master string
	// Temp is the directory for the files of a task until its container has them; empty means that of
	// the system.
	Temp string
	// Changed is called with a container ID after each change to report to the master, and Passing
	// after a change that is soon followed by another.
	Changed, Passing func(id string)
	// Failed is called with the error of a container that did not start, and Started when one did.
	Failed  func(error)
	Started func()
	// Keep retains exited containers for inspection.
	Keep bool
	Log  *slog.Logger
}

// Task is a container of this agent, from the order on disk until the master has acknowledged its
// exit. One goroutine runs it; sessions read its state.
type Task struct {
	Order   *agentv1.Start
	Journal *journal.Journal
	Log     *slog.Logger
	cfg     Config
	entry   disk.Entry

	// poke wakes enforceEnd after a request to end the container.
	poke chan struct{}

	// mu guards the fields below.
	mu        sync.Mutex
	state     disk.State
	addresses []container.Address
	acked     uint64 // lines that the master has acknowledged
	unread    string // why lines could not be read back
	forgotten bool
	ran       bool               // the master knows that it ran
	asked     bool               // the runtime may have been asked to start it
	giveUp    context.CancelFunc // cancels a start
	endLife   context.CancelFunc // cancels everything done for the container; nil before
	enforce   func()             // starts enforcing requests to end the running container
}

// Open creates the task of an order on disk. asked is true if an earlier agent may have started its
// container.
func Open(cfg Config, entry disk.Entry, o *agentv1.Start, asked bool) (*Task, error) {
	state := entry.State()
	j, err := entry.Journal()
	if err != nil {
		return nil, err
	}
	if state.AtMicros == 0 {
		state.AtMicros = time.Now().UnixMicro() // unknown, for example after an interrupted write
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

// ID returns the container ID.
func (u *Task) ID() string { return u.Order.GetContainerId() }

// View is a snapshot of a task for a session.
type View struct {
	State     disk.State
	Addresses []container.Address
	Lines     uint64
	Acked     uint64
	Unread    string
	Forgotten bool
}

// View returns a snapshot of the task.
func (u *Task) View() View {
	u.mu.Lock()
	defer u.mu.Unlock()
	return View{
		State: u.state, Addresses: u.addresses, Lines: u.Journal.Next(), Acked: u.acked, Unread: u.unread,
		Forgotten: u.forgotten,
	}
}

// advanceTo moves to a later state, which is saved to disk first. It does nothing for the current
// state: an agent that was killed during a pull pulls again.
func (u *Task) advanceTo(to lifecycle.State, exit *lifecycle.Exit, addresses []container.Address) {
	passing := to == lifecycle.Pulling || to == lifecycle.Starting
	u.mu.Lock()
	s := u.state
	next, err := s.State.To(to)
	if err == nil {
		s.State, s.AtMicros, s.Exit = next, time.Now().UnixMicro(), exit
		u.state = s
		u.addresses = addresses
		// The states before Running are not saved: a restarted agent begins again, and writing is
		// most of the cost of a short task.
		if !passing {
			u.saveState()
		}
	}
	u.mu.Unlock()
	switch {
	case err != nil:
		u.Log.Debug("ignoring a repeated state", "err", err)
	case passing:
		u.Log.Debug("container state changed", "state", string(to))
		u.cfg.Passing(u.ID())
	default:
		u.Log.Info("container state changed", "state", string(to))
		u.cfg.Changed(u.ID())
	}
}

// saveState saves the state. The caller holds mu, so that states are saved in order. If that fails,
// the task continues in memory, because a full disk must not fail a running task; a restarted agent
// gets the rest from the runtime. Until the next state is saved, the order on disk contains its
// tokens.
func (u *Task) saveState() {
	if err := u.entry.SetState(u.state); err != nil {
		u.Log.Error("cannot store the container state; a restarted agent may not know it", "err", err)
	}
}

// RequestEnd requests the end of the container: with SIGTERM if politely is set, and with SIGKILL
// after grace; -1 means never.
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

// endWanted reports whether the end was requested or the task was forgotten.
func (u *Task) endWanted() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state.Terminate || u.state.KillAtMicros != 0 || u.forgotten
}

// mayHaveStarted reports whether the runtime may have started the container.
func (u *Task) mayHaveStarted() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked
}

// setAsked records that the runtime is asked to start the container.
func (u *Task) setAsked() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = true
}

// Forget cancels and removes the task, running or not.
func (u *Task) Forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forgotten = true
	if u.endLife != nil {
		u.endLife()
	}
}

// AckLogs records that the master has the lines before next.
func (u *Task) AckLogs(next uint64) {
	u.mu.Lock()
	u.acked = max(u.acked, min(next, u.Journal.Next()))
	acked := u.acked
	u.mu.Unlock()
	// Without the lock, because a disk may be slow and sessions read the state of the task.
	if err := u.Journal.Release(acked); err != nil {
		u.Log.Warn("cannot release acknowledged log lines", "err", err)
	}
}

// SetAcked records the last state that the master has stored. A container that ran is not started
// again, even if its state on this disk was lost.
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

// SetUnread records why the output of the container cannot be read completely.
func (u *Task) SetUnread(why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unread = why
}
