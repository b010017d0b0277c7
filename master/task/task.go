// Package task owns the tasks of the cluster: it accepts them, remembers them
// through every restart, hands them to a resource manager, writes down what becomes
// of them, and answers everybody who asks.
//
// It knows the resource manager only as rm.ResourceManager, and is known to it only
// as rm.Tasks and rm.Logs. A command is one kind of task; what is particular to
// commands is in the files that are named after them.
//
//	Launch ──▶ stored ──▶ answered ──▶ rm.Submit        restart: Submit again
//	   rm ──▶ Assigned, Changed, Preempted, Ended ──▶ lifecycle ──▶ stored with its lines ──▶ rm told "done"
package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
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

// Tokens makes and ends what a task shows to the master. master/auth has it.
type Tokens interface {
	// NewTaskTokens makes the token of an allocation and one that acts as its user, which are good
	// once what keep is a part of has been written. Asked again it may make others; all end with
	// DropAllocation.
	NewTaskTokens(userID int32, allocation string) (own, user token.Text, keep func(*store.Tx) error, err error)
	// DropAllocation ends them at once, and for good once what drop is a part of has been written. An
	// allocation without any is not an error.
	DropAllocation(allocation string) (drop func(*store.Tx) error)
	// Administrator reports whether a user is one now.
	Administrator(userID int32) bool
}

// Config is what Open needs. All but Now, Log and the numbers must be set.
type Config struct {
	Store  *store.Store
	Logs   *log.Logs
	Tokens Tokens
	// Defaults is what the containers of a pool get, see
	// config.Pool.EffectiveTaskContainer.
	Defaults func(pool string) container.Defaults
	// Policy is what the tasks of a pool may do to their machines, unless their owner
	// is an administrator; see config.Master.Policy. policy.Default when nil.
	Policy func(pool string) policy.Policy
	// Price is what a slot costs in an hour where an allocation was placed; nil is not known.
	Price func(rm.Assignment) *rm.Price
	// DefaultUser is the Unix account of tasks whose owner has none.
	DefaultUser security.AgentUser
	// LaunchError refuses tasks on several machines that need more than there is;
	// otherwise they wait, with a warning. What runs on one machine is refused.
	LaunchError bool
	// AdministratorsOnly refuses tasks of other users, see
	// config.Security.TrustUsers.
	AdministratorsOnly bool
	// Limits is what the tasks of one user may take.
	Limits Limits
	// Quota counts what users store; nil has no limit.
	Quota *quota.Quota
	// WorkspaceName is the name of a workspace; nil knows only the one that every cluster
	// has.
	WorkspaceName func(id int32) string
	// OpenWorkspace is a workspace that takes new tasks; nil knows only the one that every
	// cluster has.
	OpenWorkspace func(id int32) (workspace.Workspace, error)
	// Template is the configuration of a template, JSON; nil knows none.
	Template func(ctx context.Context, name string) ([]byte, error)
	// Listed is how long an ended task stays listed; DefaultListed when zero. MostListed is how many
	// ended ones are, at most; zero is no limit.
	Listed     time.Duration
	MostListed int
	// LateAfter is how long a container waits for the others of its allocation before the log
	// says whom it waits for; a default when zero.
	LateAfter time.Duration
	// Now is the clock; nil is the system's.
	Now func() time.Time
	Log *slog.Logger
}

// DefaultListed is how long an ended task stays listed in Determined 0.38.1.
const DefaultListed = 24 * time.Hour

// Tasks is safe for concurrent use. Each of its parts does one thing with the tasks
// that all of them share.
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

// shared is what all parts have: the tasks in memory, and what is around them.
type shared struct {
	cfg Config
	reg *registry
}

// newTasks connects the parts. There are no tasks yet.
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
		logWriter: &logWriter{s},
		views:     views,
		owners:    &owners{shared: s, records: records, views: views, runs: runs},
		owned:     &owned{shared: s, records: records, policies: policies, runs: runs},
		collector: &collector{shared: s, records: records, contexts: contexts, runs: runs, listed: views},
	}, records
}

var (
	_ rm.Tasks = (*Tasks)(nil)
	_ rm.Logs  = (*Tasks)(nil)
)

// Open reads the tasks from the store, which must be leased. Nothing runs before
// Attach.
func Open(ctx context.Context, cfg Config) (*Tasks, error) {
	if cfg.Store == nil || cfg.Logs == nil || cfg.Tokens == nil || cfg.Defaults == nil {
		return nil, errors.New("open tasks: store, logs, tokens and defaults are all needed")
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
	if cfg.LateAfter == 0 {
		cfg.LateAfter = lateAfter
	}
	t, records := newTasks(cfg)
	if err := errors.Join(records.loadAll(ctx), records.countStored(ctx)); err != nil {
		return nil, fmt.Errorf("open tasks: %w", err)
	}
	return t, nil
}

// Attach gives the resource manager every task that has not ended, and from then on
// every new one. It is called once, when r knows what it knew before a restart. A task whose
// owner does not answer keeps no other from running.
func (run *runs) Attach(ctx context.Context, r rm.ResourceManager) error {
	changes := r.PriorityChanges() // before any priority is looked at
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
	// What was launched or killed while we were at it has not been handed over.
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

// submitCurrent submits the current allocation, which may be known already, and kills it
// when that was asked for. A refusal ends the task.
func (run *runs) submitCurrent(ctx context.Context, r rm.ResourceManager, e *entry) error {
	s := e.latestSnapshot()
	a := s.currentAllocation()
	if reason, doomed := a.Doomed(); doomed && len(a.Containers) == 0 {
		// It may be known from before the restart, or not.
		if _, known := r.Allocation(a.ID); !known {
			return run.Ended(ctx, a.ID, rm.End{Cause: rm.CauseKilled, Reason: reason, At: run.cfg.Now()})
		}
	}
	if err := r.Submit(ctx, run.policies.requestOf(s.task, a)); err != nil {
		if ctx.Err() != nil {
			return err
		}
		run.cfg.Log.Warn("task is refused by the resource manager", "task_id", s.task.ID, "err", err)
		return run.Ended(ctx, a.ID, rm.End{Cause: rm.CauseRefused, Reason: err.Error(), At: run.cfg.Now()})
	}
	return run.killDoomed(ctx, r, e)
}

// killDoomed kills what must end. It looks at what is, not at what has changed, so it
// may be called at any time.
func (run *runs) killDoomed(ctx context.Context, r rm.ResourceManager, e *entry) error {
	a := e.latestSnapshot().currentAllocation()
	reason, doomed := a.Doomed()
	if !doomed || r == nil {
		return nil
	}
	return r.Kill(ctx, a.ID, reason)
}
