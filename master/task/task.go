// Package task owns the tasks of the cluster: it accepts them, keeps them across restarts, submits them
// to a resource manager, records their progress, and serves all queries.
//
// It uses the resource manager only as rm.ResourceManager, which uses it only as rm.Tasks and rm.Logs. A
// command is one kind of task; code that is specific to commands is in the files named after them.
//
//	Launch ──▶ stored ──▶ response ──▶ rm.Submit        restart: Submit again
//	   rm ──▶ Assigned, Changed, Preempted, Ended ──▶ lifecycle ──▶ stored with its lines ──▶ acknowledged to rm
package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// Tokens creates and deletes the tokens that tasks present to the master. master/auth implements it.
type Tokens interface {
	// NewTaskTokens creates the token of an allocation and one that acts as its user. They are valid
	// once the transaction that includes keep is committed. A repeated call may create others;
	// DropAllocation deletes all of them.
	NewTaskTokens(userID int32, allocation string) (own, user token.Text, keep func(*store.Tx) error, err error)
	// DropAllocation revokes them at once, and permanently when the transaction that includes drop is
	// committed. An allocation without tokens is not an error.
	DropAllocation(allocation string) (drop func(*store.Tx) error)
	// Administrator reports whether a user is an administrator now.
	Administrator(userID int32) bool
}

// Config configures Open. All fields except for Now, Log and the numbers must be set.
type Config struct {
	Store  *store.Store
	Logs   *log.Logs
	Tokens Tokens
	// Defaults returns the container defaults of a pool, see config.Pool.EffectiveTaskContainer.
	Defaults func(pool string) container.Defaults
	// Policy returns the policy for the tasks of a pool on their machines, which does not apply to
	// administrators; see config.Master.Policy. Nil selects policy.Default.
	Policy func(pool string) policy.Policy
	// Price returns the price of a slot per hour for a placement; nil if unknown.
	Price func(rm.Assignment) *rm.Price
	// DefaultUser is the Unix account of tasks whose owner has none.
	DefaultUser security.AgentUser
	// LaunchError rejects tasks on several machines that need more slots than there are; otherwise they
	// wait with a warning. Tasks on one machine are always rejected.
	LaunchError bool
	// AdministratorsOnly rejects tasks of other users, see config.Security.TrustUsers.
	AdministratorsOnly bool
	// NotebookTimeout is the time without use after which a notebook that sets none is ended; zero is
	// never.
	NotebookTimeout time.Duration
	// TensorBoardTimeout is the same for TensorBoards; five minutes if zero.
	TensorBoardTimeout time.Duration
	// Limits are the limits on the tasks of one user.
	Limits Limits
	// Quota counts the bytes that users store; nil has no limit.
	Quota *quota.Quota
	// Contexts are the directories that users send before their tasks; nil selects those of Store
	// without a limit.
	Contexts *bundle.Contexts
	// WorkspaceName returns the name of a workspace; nil knows only the first one.
	WorkspaceName func(id int32) string
	// OpenWorkspace returns a workspace that accepts new tasks, or an error; nil knows only the first
	// one.
	OpenWorkspace func(id int32) (workspace.Workspace, error)
	// Template returns the configuration of a template as JSON; nil knows none.
	Template func(ctx context.Context, name string) ([]byte, error)
	// Listed is the time that an ended task stays listed; DefaultListed if zero. MostListed is the
	// maximum number of listed ended tasks; zero means unlimited.
	Listed     time.Duration
	MostListed int
	// LateAfter is the time that a container waits for the others of its allocation before the log names
	// the missing ones; zero selects the default.
	LateAfter time.Duration
	// Now is the clock; nil selects the system's.
	Now func() time.Time
	Log *slog.Logger
}

// defaultBoardTimeout is the time without use after which a TensorBoard is ended in Determined 0.38.1.
const defaultBoardTimeout = 5 * time.Minute

// DefaultListed is the time that an ended task stays listed in Determined 0.38.1.
const DefaultListed = 24 * time.Hour

// Tasks is safe for concurrent use. Each of its parts implements one group of operations on the tasks,
// which all parts share.
type Tasks struct {
	*launches
	*contexts
	*runs
	*programs
	*gathers
	*logWriter
	*views
	*owners
	*owned
	*collector
}

// shared is the state that all parts share: the tasks in memory and the configuration.
type shared struct {
	cfg Config
	reg *registry
}

// newTasks connects the parts, without any tasks.
func newTasks(cfg Config) (*Tasks, *records) {
	s := &shared{cfg: cfg, reg: newRegistry()}
	records, policies := &records{s}, &policies{s}
	contexts, views := &contexts{s}, &views{shared: s, records: records}
	runs := &runs{shared: s, records: records, policies: policies}
	return &Tasks{
		launches:  &launches{shared: s, records: records, contexts: contexts, views: views, policies: policies, runs: runs},
		contexts:  contexts,
		runs:      runs,
		programs:  &programs{shared: s, records: records, runs: runs},
		gathers:   &gathers{shared: s, records: records, open: map[gatherKey]*gathering{}},
		logWriter: &logWriter{s, records},
		views:     views,
		owners:    &owners{shared: s, records: records, views: views, policies: policies, runs: runs},
		owned:     &owned{shared: s, records: records, policies: policies, runs: runs},
		collector: &collector{shared: s, records: records, contexts: contexts, runs: runs, listed: views},
	}, records
}

var (
	_ rm.Tasks = (*Tasks)(nil)
	_ rm.Logs  = (*Tasks)(nil)
)

// Open loads the tasks from the store, which must be leased. Nothing runs before Attach. It returns an
// error if cfg lacks a required field or the tasks cannot be loaded.
func Open(ctx context.Context, cfg Config) (*Tasks, error) {
	if cfg.Store == nil || cfg.Logs == nil || cfg.Tokens == nil || cfg.Defaults == nil {
		return nil, errors.New("cannot open tasks: store, logs, tokens and defaults are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Policy == nil {
		cfg.Policy = func(string) policy.Policy { return policy.Default() }
	}
	if cfg.Contexts == nil {
		cfg.Contexts = bundle.New(bundle.Config{Store: cfg.Store, Quota: cfg.Quota, Now: cfg.Now})
	}
	if cfg.WorkspaceName == nil {
		cfg.WorkspaceName = func(int32) string { return rm.Uncategorized }
	}
	if cfg.OpenWorkspace == nil {
		cfg.OpenWorkspace = firstWorkspace
	}
	if cfg.Template == nil {
		cfg.Template = func(_ context.Context, name string) ([]byte, error) { return nil, status.Missing("template", name) }
	}
	if cfg.Listed == 0 {
		cfg.Listed = DefaultListed
	}
	if cfg.TensorBoardTimeout == 0 {
		cfg.TensorBoardTimeout = defaultBoardTimeout
	}
	if cfg.LateAfter == 0 {
		cfg.LateAfter = lateAfter
	}
	t, records := newTasks(cfg)
	if err := errors.Join(records.loadAll(ctx), records.countStored(ctx)); err != nil {
		return nil, fmt.Errorf("open tasks: %w", err)
	}
	return t, nil
}

// Attach submits every task that has not ended to the resource manager, and from then on every new one.
// It is called once, after r has restored its state. If an owner fails to decide, the other tasks are
// submitted nevertheless.
func (run *runs) Attach(ctx context.Context, r rm.ResourceManager) error {
	changes := r.PriorityChanges() // before any priority is read
	for _, e := range run.reg.listTasks() {
		was := e.cur.Load()
		err := run.attachTask(ctx, r, e)
		if err == nil {
			e.attached = was
			e.notePriority(r, changes)
		}
		if err := run.logUndecided(err); err != nil {
			return fmt.Errorf("attach the resource manager: %w", err)
		}
	}
	run.reg.attachManager(r)
	// Submit the tasks that were launched or killed meanwhile.
	for _, e := range run.reg.listChanged() {
		if err := run.logUndecided(run.submitCurrent(ctx, r, e)); err != nil {
			return fmt.Errorf("attach the resource manager: %w", err)
		}
	}
	return nil
}

func (run *runs) attachTask(ctx context.Context, r rm.ResourceManager, e *entry) error {
	if e.latestSnapshot().hasEnded() {
		return run.records.flushLines(ctx, e) // it leaves memory when its last line is in its log
	}
	if err := run.settleRun(ctx, e); err != nil || !e.latestSnapshot().isOpen() {
		return err
	}
	return run.submitCurrent(ctx, r, e)
}

// submitCurrent submits the current allocation, which may be known already, unless the task waits for
// others, and kills it if a kill was requested. If the resource manager rejects it, the task ends.
func (run *runs) submitCurrent(ctx context.Context, r rm.ResourceManager, e *entry) error {
	s := e.latestSnapshot()
	a := s.currentAllocation()
	if reason, doomed := a.Doomed(); doomed && len(a.Containers) == 0 {
		// It may be known from before the restart, or not.
		if _, known := r.Allocation(a.ID); !known {
			return run.Ended(ctx, a.ID, rm.End{Cause: rm.CauseKilled, Reason: reason, At: run.cfg.Now()})
		}
	}
	if ready, err := run.settleAfter(ctx, e); err != nil || !ready {
		return err
	}
	if err := r.Submit(ctx, run.policies.requestOf(s.task, a)); err != nil {
		if ctx.Err() != nil {
			return err
		}
		run.cfg.Log.Warn("resource manager rejected task", "task_id", s.task.ID, "err", err)
		return run.Ended(ctx, a.ID, rm.End{Cause: rm.CauseRefused, Reason: err.Error(), At: run.cfg.Now()})
	}
	return run.killDoomed(ctx, r, e)
}

// killDoomed kills the current allocation if it must end, and asks it to stop if its task was paused. It depends on the current state only, so that
// it may be called at any time.
func (run *runs) killDoomed(ctx context.Context, r rm.ResourceManager, e *entry) error {
	s := e.latestSnapshot()
	a := s.currentAllocation()
	reason, doomed := a.Doomed()
	pause, pausing := a.MustPause()
	switch {
	case r == nil || !doomed && !pausing:
		return nil
	case !doomed:
		return r.Preempt(ctx, a.ID, pause)
	case len(s.task.After) > 0: // the resource manager does not have it
		return run.Ended(ctx, a.ID, rm.End{Cause: rm.CauseKilled, Reason: reason, At: run.cfg.Now()})
	}
	return r.Kill(ctx, a.ID, reason)
}
