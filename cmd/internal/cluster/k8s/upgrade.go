package k8s

import (
	"context"
	"errors"
	"time"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Releases returns the current release and the one that the values request. It returns an *onlyValuesError
// if only values would change.
func (c *opened) Releases(ctx context.Context) (runs, to record.Release, err error) {
	if runs, _, err = c.Target.Runs(ctx); err != nil {
		return runs, to, err
	}
	if runs.IsZero() {
		return runs, to, c.absentError(ctx)
	}
	if to, err = c.Target.Wants(ctx); err != nil {
		return runs, to, err
	}
	if c.differs = c.Record.Upgrade != nil || !runs.Same(to); c.differs {
		return runs, to, nil
	}
	p, err := c.Plan(ctx)
	if err != nil {
		return runs, to, err
	}
	return runs, to, c.w.onlyValues(p, runs, c.flagLine())
}

// Upgrade upgrades the cluster. It pauses tasks if requested, and resumes the tasks that this upgrade or
// an interrupted one has paused.
func (c *opened) Upgrade(ctx context.Context, to record.Release) (done installer.Upgraded, err error) {
	p := c.pauseMaster()
	noted, _, err := p.Noted(ctx)
	if err != nil {
		return done, err
	}
	wanted := c.w.PauseTasks && c.differs
	if len(noted) == 0 && !wanted {
		return c.Opened.Upgrade(ctx, to)
	}
	if wanted {
		master, err := c.openSession(ctx)
		if err != nil {
			return done, err
		}
		defer master.Close()
		p.Master = master
		if err := p.Begin(ctx); err != nil {
			return done, errors.Join(err, p.End(ctx))
		}
	}
	done, err = c.Opened.Upgrade(ctx, to)
	return done, errors.Join(err, c.resumeMaster(ctx, p))
}

func (c *opened) pauseMaster() installer.Pause {
	return installer.Pause{
		Store: c.Store, Notef: c.w.Notef, Limit: c.w.PauseLimit, Every: time.Second,
		Left: func(ctx context.Context) (int, error) { all, err := c.Target.Tasks(ctx); return len(all), err },
	}
}

// resumeMaster resumes paused tasks. It opens a new session because connections to the old master no
// longer work.
func (c *opened) resumeMaster(ctx context.Context, p installer.Pause) error {
	master, err := c.openSession(context.WithoutCancel(ctx))
	if err != nil {
		noted, _, _ := p.Noted(context.WithoutCancel(ctx)) // on an error, the hint names no node
		return &installer.KeptError{Nodes: noted, Err: err}
	}
	defer master.Close()
	p.Master = master
	return p.End(ctx)
}

// Abandons reports whether --abandon was given.
func (c *opened) Abandons() bool { return c.w.Abandon }

// PlanAbandon returns the expected result of abandoning the upgrade.
func (c *opened) PlanAbandon(ctx context.Context) (installer.Abandoned, error) {
	would, err := c.Opened.PlanAbandon(ctx)
	if _, none := errors.AsType[*installer.AbsentError](err); none {
		return would, c.absentError(ctx)
	}
	return would, err
}

// Unpause resumes the tasks that the upgrade has paused.
func (c *opened) Unpause(ctx context.Context) error {
	p := c.pauseMaster()
	noted, _, err := p.Noted(ctx)
	if err != nil || len(noted) == 0 {
		return err
	}
	return c.resumeMaster(ctx, p)
}

// onlyValues returns an *onlyValuesError if values were given that change the plan without changing the
// version. Such a change needs no backup and no rehearsal, and install shows its plan.
func (w *wanted) onlyValues(p plan.Plan, runs record.Release, flags string) error {
	if p.Empty() {
		return nil
	}
	if !w.isGiven() {
		w.Notef("The cluster has drifted; `det-deploy k8s install %s` repairs it.", flags)
		return nil
	}
	return &onlyValuesError{runs.Version, flags}
}

// onlyValuesError reports an upgrade that would change only values.
type onlyValuesError struct{ version, flags string }

func (e *onlyValuesError) Error() string {
	return "the cluster runs det-deploy " + e.version + " already, and only values would change"
}

// Hint names the command that changes values.
func (e *onlyValuesError) Hint() string {
	return "use `det-deploy k8s install " + e.flags + "` with the same values; `det-deploy k8s plan` shows the changes"
}
