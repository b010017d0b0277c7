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

// lookEvery is how often work is looked for without a call of Wake, and lookAgain how soon after a failure;
// stopLimit is how long a deletion that makes room may go on, to end with the file that it is at.
const (
	lookEvery = time.Minute
	lookAgain = 5 * time.Second
	stopLimit = 15 * time.Second
)

// Wake makes Run look now.
func (c *Checkpoints) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run carries out policies and deletions until ctx ends. It acts on what is stored,
// so that it may be stopped between any two steps.
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

// sleep ends early when there is news.
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
	_ = wait.For(ctx, d) // woken or over
}

// act does what is due and says when to look again.
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

// startDue starts the tasks of deletions whose time has come, and says when the next's does.
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

// dueIn is how long a deletion still waits. None waits longer than the longest time between two tries: the clock was
// set back since.
func (d Deletion) dueIn(now time.Time) time.Duration {
	left := d.Due.Sub(now)
	if left > longest {
		return 0
	}
	return max(left, 0)
}

// start makes a deletion's task, or its next run.
func (c *Checkpoints) start(ctx context.Context, d Deletion) error {
	o, err := c.orderOf(ctx, d)
	if err != nil {
		return err
	}
	return c.cfg.Tasks.Start(ctx, o)
}

// orderOf is the task of a deletion: one without slots, in the experiment's pool, where its storage
// can be reached. It makes room for others, and for the upgrade of a cluster: what it has not deleted
// its next run does.
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
		Task: rm.TaskID(d.ID), Job: rm.JobID(d.ID), Kind: lifecycle.CheckpointGC, Run: d.Tries + 1, Name: nameOf(d),
		UserID: x.UserID, Username: x.Username, Unix: x.Unix, Workspace: workspace, Submitted: d.Asked,
		Pool: c.cfg.Pool(x.Queue.Pool), Weight: 1, SingleNode: true, PodSpec: c.podSpec(cfg, x.Queue.Pool),
		Preemptible: true, PreemptionTimeout: stopLimit,
	}, nil
}

// podSpec is what the cluster says of pods that delete checkpoints, else what the experiment says of its own.
func (c *Checkpoints) podSpec(x config.Experiment, pool string) json.RawMessage {
	if raw := c.cfg.Defaults(pool).CheckpointGCSpec; !raw.IsZero() {
		return raw.JSON()
	}
	return x.Environment.PodSpec.JSON()
}

func nameOf(d Deletion) string {
	switch {
	case len(d.UUIDs) == 0:
		return fmt.Sprintf("Deletion of TensorBoard files of experiment %d", d.Experiment)
	case len(d.Globs) == 0:
		return fmt.Sprintf("Listing of %d checkpoints of experiment %d", len(d.UUIDs), d.Experiment)
	default:
		return fmt.Sprintf("Deletion of %d checkpoints of experiment %d", len(d.UUIDs), d.Experiment)
	}
}
