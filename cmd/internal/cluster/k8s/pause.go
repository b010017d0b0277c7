package k8s

import (
	"context"
	"encoding/json"
	"errors"
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

// machines is what pausing needs of a master.
type machines interface {
	Agents(ctx context.Context) ([]*apiv1.Agent, error)
	Jobs(ctx context.Context, pool string) ([]*apiv1.Job, error)
	EnableAgent(ctx context.Context, id string) (*apiv1.Agent, error)
	DisableAgent(ctx context.Context, id string, drain bool) (*apiv1.Agent, error)
	Tasks(ctx context.Context) (map[string]*apiv1.AllocationSummary, error)
	Preempt(ctx context.Context, allocation string) error
}

var _ machines = (*client.Client)(nil)

// pausing keeps tasks from running while a master is replaced.
//
//	note the nodes ─▶ nothing starts ─▶ is all that runs preemptible? ─▶ preempt it ─▶ (upgrade) ─▶ let all start
//	                                       └───────no: let all start, refuse
type pausing struct {
	master machines
	store  record.Store
	// left counts the pods of tasks.
	left func(context.Context) (int, error)
	tell func(format string, args ...any)
	// limit is how long tasks have to stop; every is the pause between two looks.
	limit, every time.Duration
}

// pause stops what runs. Whatever goes wrong, resume undoes it.
func (p pausing) pause(ctx context.Context) error {
	if err := p.stop(ctx); err != nil {
		return fmt.Errorf("pause tasks: %w", err)
	}
	return nil
}

func (p pausing) stop(ctx context.Context) error {
	ids, err := p.note(ctx)
	if err != nil {
		return err
	}
	if err := p.disable(ctx, ids, true); err != nil {
		return err
	}
	jobs, err := p.master.Jobs(ctx, "")
	if err != nil {
		return err
	}
	if names := unstoppable(jobs); len(names) > 0 {
		return &unstoppableError{names}
	}
	p.tell("Stopping what runs on nodes %s; it is run again afterwards.", strings.Join(ids, ", "))
	return p.empty(ctx, ids)
}

// unstoppable are the running jobs that would not be run again.
func unstoppable(jobs []*apiv1.Job) []string {
	var out []string
	for _, j := range jobs {
		if j.GetSummary().GetState() != apiv1.Job_STATE_QUEUED && !j.GetIsPreemptible() {
			out = append(out, strings.TrimSpace(j.GetEntityId()+" "+j.GetName()))
		}
	}
	return out
}

// note writes down the nodes on which tasks may start now, beside those of an earlier
// run that did not come to its end.
func (p pausing) note(ctx context.Context) ([]string, error) {
	agents, err := p.master.Agents(ctx)
	if err != nil {
		return nil, err
	}
	ids, was, err := p.noted(ctx)
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
	if err := p.store.Make(ctx); err != nil {
		return nil, err
	}
	_, err = p.store.Put(ctx, pausedKey, data, was)
	return ids, err
}

// noted reads what was written down; nothing when nothing was.
func (p pausing) noted(ctx context.Context) (ids []string, version string, err error) {
	o, err := p.store.Get(ctx, pausedKey)
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

// disable lets nothing start on the nodes, and has what runs there killed unless they
// are to drain.
func (p pausing) disable(ctx context.Context, ids []string, drain bool) error {
	for _, id := range ids {
		if _, err := p.master.DisableAgent(ctx, id, drain); err != nil && client.KindOf(err) != client.NotFound {
			return err
		}
	}
	return nil
}

// resume lets tasks start again on the nodes that were written down. It may be repeated,
// also by a later run, and goes on after an interruption.
func (p pausing) resume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resumeLimit)
	defer cancel()
	ids, version, err := p.noted(ctx)
	if err != nil || version == "" {
		return err
	}
	for _, id := range ids {
		if _, err := p.master.EnableAgent(ctx, id); err != nil && client.KindOf(err) != client.NotFound {
			return &keptError{ids, err}
		}
	}
	p.tell("Tasks may start again on nodes %s.", strings.Join(ids, ", "))
	return p.store.Delete(ctx, pausedKey, version)
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

// keptError is a master that cannot be told that tasks may start again.
type keptError struct {
	nodes []string
	err   error
}

func (e *keptError) Error() string { return fmt.Sprintf("let tasks start again: %v", e.err) }
func (e *keptError) Unwrap() error { return e.err }

// Hint says what does it.
func (e *keptError) Hint() string {
	return "when the master answers run the same command again, or `det-deploy agent enable " + strings.Join(e.nodes, " ") + "`"
}

// unreachedError is a master that cannot be asked to pause its tasks.
type unreachedError struct{ url, forward string }

func (e *unreachedError) Error() string {
	return "pause tasks: the master does not answer at " + e.url + ", and only it can stop tasks so that they are run again"
}

// Hint says what brings it here.
func (e *unreachedError) Hint() string {
	return "run `" + e.forward + "` beside, or leave --pause-tasks out"
}

var errNotLoggedIn = errors.New("pause tasks: the first password was changed, and no user is logged in; run `det-deploy login admin` first")
