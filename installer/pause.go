package installer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

const (
	// pausedKey holds beside the record the nodes that are kept from tasks, so that a
	// killed upgrade leaves none switched off unknown.
	pausedKey = "paused.json"
	// resumeLimit bounds switching nodes on again after an interruption.
	resumeLimit = time.Minute
)

// pausable is what a pause needs of a master.
type pausable interface {
	Agents(ctx context.Context) ([]*apiv1.Agent, error)
	Jobs(ctx context.Context, pool string) ([]*apiv1.Job, error)
	EnableAgent(ctx context.Context, id string) (*apiv1.Agent, error)
	DisableAgent(ctx context.Context, id string, drain bool) (*apiv1.Agent, error)
	Tasks(ctx context.Context) (map[string]*apiv1.AllocationSummary, error)
	Preempt(ctx context.Context, allocation string) error
}

var _ pausable = (*client.Client)(nil)

// Pause keeps tasks from running while a master is replaced.
//
//	note the nodes ─▶ nothing starts ─▶ is all that runs preemptible? ─▶ preempt it ─▶ (upgrade) ─▶ let all start
//	                                       └───────no: let all start, refuse
type Pause struct {
	Master pausable
	Store  record.Store
	// Left counts the pods of tasks.
	Left  func(context.Context) (int, error)
	Notef func(format string, args ...any)
	// Limit is how long tasks have to stop; Every is the time between two checks.
	Limit, Every time.Duration
}

// Begin stops what runs. Whatever goes wrong, End undoes it.
func (p Pause) Begin(ctx context.Context) error {
	if err := p.stopTasks(ctx); err != nil {
		return fmt.Errorf("pause tasks: %w", err)
	}
	return nil
}

func (p Pause) stopTasks(ctx context.Context) error {
	ids, err := p.noteNodes(ctx)
	if err != nil {
		return err
	}
	if err := p.disableNodes(ctx, ids, true); err != nil {
		return err
	}
	jobs, err := p.Master.Jobs(ctx, "")
	if err != nil {
		return err
	}
	if names := unstoppableJobs(jobs); len(names) > 0 {
		return &unstoppableError{names}
	}
	p.Notef("Stopping what runs on nodes %s; it is run again afterwards.", strings.Join(ids, ", "))
	return p.emptyNodes(ctx, ids)
}

// unstoppableJobs are the running jobs that would not be run again.
func unstoppableJobs(jobs []*apiv1.Job) []string {
	var out []string
	for _, j := range jobs {
		if j.GetSummary().GetState() != apiv1.Job_STATE_QUEUED && !j.GetIsPreemptible() {
			out = append(out, strings.TrimSpace(j.GetEntityId()+" "+j.GetName()))
		}
	}
	return out
}

// noteNodes writes down the nodes on which tasks may start now, beside those of an earlier
// run that did not come to its end.
func (p Pause) noteNodes(ctx context.Context) ([]string, error) {
	agents, err := p.Master.Agents(ctx)
	if err != nil {
		return nil, err
	}
	ids, was, err := p.Noted(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if a.GetEnabled() && !a.GetDraining() {
			ids = append(ids, a.GetId())
		}
	}
	data, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	if err := p.Store.Make(ctx); err != nil {
		return nil, err
	}
	_, err = p.Store.Put(ctx, pausedKey, data, was)
	return ids, err
}

// Noted reads what was written down; nothing when nothing was.
func (p Pause) Noted(ctx context.Context) (ids []string, version string, err error) {
	o, err := p.Store.Get(ctx, pausedKey)
	if cloud.KindOf(err) == cloud.NotFound {
		return nil, "", nil
	}
	if err == nil {
		err = json.Unmarshal(o.Data, &ids)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read which nodes are kept from tasks: %w", err)
	}
	return ids, o.Version, nil
}

// disableNodes lets nothing start on the nodes, and has what runs there killed unless they
// are to drain.
func (p Pause) disableNodes(ctx context.Context, ids []string, drain bool) error {
	for _, id := range ids {
		if _, err := p.Master.DisableAgent(ctx, id, drain); err != nil && client.KindOf(err) != client.NotFound {
			return err
		}
	}
	return nil
}

// End lets tasks start again on the nodes that were written down. It may be repeated,
// also by a later run, and continues after an interruption.
func (p Pause) End(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resumeLimit)
	defer cancel()
	ids, version, err := p.Noted(ctx)
	if err != nil || version == "" {
		return err
	}
	for _, id := range ids {
		if _, err := p.Master.EnableAgent(ctx, id); err != nil && client.KindOf(err) != client.NotFound {
			return &KeptError{Nodes: ids, Err: err}
		}
	}
	p.Notef("Tasks may start again on nodes %s.", strings.Join(ids, ", "))
	return p.Store.Delete(ctx, pausedKey, version)
}

// unstoppableError refuses to stop what would not be run again.
type unstoppableError struct{ tasks []string }

func (e *unstoppableError) Error() string {
	return "these are not preemptible, and once stopped would not be run again: " + strings.Join(e.tasks, ", ")
}

// Hint says what to do about them.
func (*unstoppableError) Hint() string {
	return "wait for their end or kill them, or leave --pause-tasks out: pods of tasks go on through an upgrade"
}

// KeptError is a master that could not be asked to let tasks start again.
type KeptError struct {
	Nodes []string
	Err   error
}

func (e *KeptError) Error() string { return fmt.Sprintf("let tasks start again: %v", e.Err) }
func (e *KeptError) Unwrap() error { return e.Err }

// Hint says what does it.
func (e *KeptError) Hint() string {
	return "when the master answers run the same command again, or `det-deploy agent enable " + strings.Join(e.Nodes, " ") + "`"
}
