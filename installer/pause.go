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
	// pausedKey stores, next to the record, the nodes that were disabled, so that the next run can
	// enable them after an interrupted upgrade.
	pausedKey = "paused.json"
	// resumeLimit limits enabling the nodes after an interruption.
	resumeLimit = time.Minute
)

// pausable is the part of a master's API that Pause uses.
type pausable interface {
	Agents(ctx context.Context) ([]*apiv1.Agent, error)
	Jobs(ctx context.Context, pool string) ([]*apiv1.Job, error)
	EnableAgent(ctx context.Context, id string) (*apiv1.Agent, error)
	DisableAgent(ctx context.Context, id string, drain bool) (*apiv1.Agent, error)
	Tasks(ctx context.Context) (map[string]*apiv1.AllocationSummary, error)
	Preempt(ctx context.Context, allocation string) error
}

var _ pausable = (*client.Client)(nil)

// Pause stops tasks while a master is replaced.
//
//	record the nodes ─▶ disable them ─▶ are all tasks preemptible? ─▶ preempt ─▶ (upgrade) ─▶ enable
//	                                       └───────no: enable, return an error
type Pause struct {
	Master pausable
	Store  record.Store
	// Left counts the pods of tasks.
	Left  func(context.Context) (int, error)
	Notef func(format string, args ...any)
	// Limit is how long tasks have to stop; Every is the polling interval.
	Limit, Every time.Duration
}

// Begin stops the running tasks. If it fails, call End to undo it.
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
	p.Notef("Preempting the tasks on nodes %s; they run again afterwards.", strings.Join(ids, ", "))
	return p.emptyNodes(ctx, ids)
}

// unstoppableJobs returns the running jobs that are not preemptible.
func unstoppableJobs(jobs []*apiv1.Job) []string {
	var out []string
	for _, j := range jobs {
		if j.GetSummary().GetState() != apiv1.Job_STATE_QUEUED && !j.GetIsPreemptible() {
			out = append(out, strings.TrimSpace(j.GetEntityId()+" "+j.GetName()))
		}
	}
	return out
}

// noteNodes records the enabled nodes, in addition to those of an earlier run that was interrupted.
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

// Noted returns the recorded nodes, or none.
func (p Pause) Noted(ctx context.Context) (ids []string, version string, err error) {
	o, err := p.Store.Get(ctx, pausedKey)
	if cloud.KindOf(err) == cloud.NotFound {
		return nil, "", nil
	}
	if err == nil {
		err = json.Unmarshal(o.Data, &ids)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the disabled nodes: %w", err)
	}
	return ids, o.Version, nil
}

// disableNodes disables the nodes. Unless drain is set, the master kills their tasks.
func (p Pause) disableNodes(ctx context.Context, ids []string, drain bool) error {
	for _, id := range ids {
		if _, err := p.Master.DisableAgent(ctx, id, drain); err != nil && client.KindOf(err) != client.NotFound {
			return err
		}
	}
	return nil
}

// End enables the recorded nodes. It may be repeated, also by a later run, and continues after an
// interruption.
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
	p.Notef("Enabled nodes %s for tasks again.", strings.Join(ids, ", "))
	return p.Store.Delete(ctx, pausedKey, version)
}

// unstoppableError reports tasks that are not preemptible and would be lost.
type unstoppableError struct{ tasks []string }

func (e *unstoppableError) Error() string {
	return "not preemptible; would be lost: " + strings.Join(e.tasks, ", ")
}

func (*unstoppableError) Hint() string {
	return "wait until they end, kill them, or omit --pause-tasks: task pods keep running during an upgrade"
}

// KeptError reports that the nodes could not be enabled.
type KeptError struct {
	Nodes []string
	Err   error
}

func (e *KeptError) Error() string { return fmt.Sprintf("cannot enable the nodes again: %v", e.Err) }
func (e *KeptError) Unwrap() error { return e.Err }

// Hint names the command that enables the nodes.
func (e *KeptError) Hint() string {
	return "when the master answers, run the same command again, or `det-deploy agent enable " + strings.Join(e.Nodes, " ") + "`"
}
