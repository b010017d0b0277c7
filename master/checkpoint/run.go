package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// lookEvery is the interval between checks without a call of Wake, lookAgain the interval after a
// failure, and stopLimit the time that a preempted deletion has to finish its current file.
const (
	lookEvery = time.Minute
	lookAgain = 5 * time.Second
	stopLimit = 15 * time.Second
)

// Wake makes Run check for work immediately.
func (c *Checkpoints) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run applies policies and starts deletions until ctx is done. All progress is stored, so that it
// may be interrupted at any point.
func (c *Checkpoints) Run(ctx context.Context) error {
	for {
		next, err := c.act(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the master stops
		}
		if err != nil {
			c.cfg.Log.Warn("cannot delete checkpoints; retrying", "err", err)
			next = lookAgain
		}
		c.sleep(ctx, next)
	}
}

// sleep waits for d or until Wake is called.
func (c *Checkpoints) sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.wake:
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = wait.For(ctx, d) // woken or timed out
}

// act performs the pending work and returns the time until the next check.
func (c *Checkpoints) act(ctx context.Context) (time.Duration, error) {
	pending, err := collections().All(ctx, c.cfg.Store)
	if err != nil {
		return 0, err
	}
	var failed error
	for _, d := range pending {
		experiment, err := strconv.ParseInt(d.ID, 10, 32)
		if err == nil {
			err = c.collect(ctx, int32(experiment))
		}
		failed = errors.Join(failed, err)
	}
	next, err := c.startDue(ctx)
	return next, errors.Join(failed, err)
}

// startDue starts the tasks of deletions that are due, and returns the time until the next one is
// due.
func (c *Checkpoints) startDue(ctx context.Context) (time.Duration, error) {
	all, err := deletions().All(ctx, c.cfg.Store)
	if err != nil {
		return 0, err
	}
	next, now := lookEvery, c.cfg.Now()
	var failed error
	for _, d := range all {
		if left := d.Value.dueIn(now); left > 0 {
			next = min(next, left)
			continue
		}
		failed = errors.Join(failed, c.start(ctx, d.Value))
	}
	return next, failed
}

// dueIn returns the time until a deletion is due. A value above the longest delay means that the
// clock was set back, so that the deletion is due immediately.
func (d Deletion) dueIn(now time.Time) time.Duration {
	left := d.Due.Sub(now)
	if left > longest {
		return 0
	}
	return max(left, 0)
}

// start starts the next run of a deletion's task.
func (c *Checkpoints) start(ctx context.Context, d Deletion) error {
	o, err := c.orderOf(ctx, d)
	if err != nil {
		return err
	}
	return c.cfg.Tasks.Start(ctx, o)
}

// orderOf returns the start order of a deletion's task. It uses no slots and runs in the
// experiment's resource pool, from which its storage is accessible. It is preemptible, for other
// tasks and for upgrades of the cluster, because the next run deletes the remaining files.
func (c *Checkpoints) orderOf(ctx context.Context, d Deletion) (task.StartOrder, error) {
	doc, found, err := record.Docs().Experiments.Get(ctx, c.cfg.Store, record.Key(d.Experiment))
	if err != nil {
		return task.StartOrder{}, err
	}
	if !found {
		return task.StartOrder{}, fmt.Errorf("delete checkpoints of experiment %d: it is not in the store; restore a backup", d.Experiment)
	}
	x := doc.Value
	cfg, err := ConfigOf(ctx, c.cfg.Store, d.Experiment)
	if err != nil {
		return task.StartOrder{}, err
	}
	workspace, err := c.cfg.Workspace(x.ProjectID)
	if err != nil {
		return task.StartOrder{}, err
	}
	return task.StartOrder{
		Task: rm.TaskID(d.ID), Job: rm.JobID(d.ID), Kind: lifecycle.CheckpointGC, Run: d.Tries + 1, Name: fmt.Sprintf("Checkpoint GC (Experiment %d)", d.Experiment),
		UserID: x.UserID, Username: x.Username, Unix: x.Unix, Workspace: workspace, Submitted: d.Asked,
		Pool: c.cfg.Pool(x.Queue.Pool), Weight: 1, SingleNode: true, PodSpec: c.podSpec(cfg, x.Queue.Pool),
		Preemptible: true, PreemptionTimeout: stopLimit,
	}, nil
}

// podSpec returns the cluster's pod spec for checkpoint deletion, or the experiment's pod spec if
// the cluster has none configured.
func (c *Checkpoints) podSpec(x config.Experiment, pool string) json.RawMessage {
	if raw := c.cfg.Defaults(pool).CheckpointGCSpec; !raw.IsZero() {
		return raw.JSON()
	}
	return x.Environment.PodSpec.JSON()
}
