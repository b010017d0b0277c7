package task

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Command returns a command and its configuration. Its error has the code NotFound.
func (v *views) Command(ctx context.Context, id string) (*apiv1.GetCommandResponse, error) {
	return v.OfKind(ctx, lifecycle.Command, id)
}

// OfKind is Command for a task of a kind.
func (v *views) OfKind(ctx context.Context, k lifecycle.Kind, id string) (*apiv1.GetCommandResponse, error) {
	e, err := v.findKind(ctx, k, id)
	if err != nil {
		return nil, err
	}
	s := e.latestSnapshot()
	cfg, err := v.shownConfig(s)
	if err != nil {
		return nil, err
	}
	return &apiv1.GetCommandResponse{Command: v.showCommand(s), Config: cfg}, nil
}

// findCommand returns a listed command. Its error has the code NotFound.
func (v *views) findCommand(ctx context.Context, id string) (*entry, error) {
	return v.findKind(ctx, lifecycle.Command, id)
}

// findKind returns a listed task of one kind. Its error has the code NotFound.
func (v *views) findKind(ctx context.Context, k lifecycle.Kind, id string) (*entry, error) {
	e, found, err := v.findTask(ctx, rm.TaskID(id))
	if err != nil {
		return nil, err
	}
	if !found || e.latestSnapshot().task.Kind != k {
		return nil, status.Missing(kindOf(k).noun, id)
	}
	return e, nil
}

// owners implements the operations of users on existing tasks.
type owners struct {
	*shared

	records  *records
	views    *views
	policies *policies
	runs     *runs
}

// Kill ends a command; a command that has already ended stays unchanged. The kill is stored before it is
// carried out, so that a restarted master completes it. The errors have the codes NotFound and
// PermissionDenied.
func (o *owners) Kill(ctx context.Context, by *apiv1.User, id string) (*apiv1.KillCommandResponse, error) {
	killed, err := o.KillKind(ctx, by, lifecycle.Command, id)
	if err != nil {
		return nil, err
	}
	return &apiv1.KillCommandResponse{Command: killed}, nil
}

// KillKind is Kill for a task of a kind.
func (o *owners) KillKind(ctx context.Context, by *apiv1.User, k lifecycle.Kind, id string) (*apiv1.Command, error) {
	e, err := o.views.findKind(ctx, k, id)
	if err != nil {
		return nil, err
	}
	if err := checkAllowed(by, e.latestSnapshot().task, "kill"); err != nil {
		return nil, err
	}
	if err := o.killOne(ctx, by, e); err != nil {
		return nil, err
	}
	return o.views.showCommand(e.latestSnapshot()), nil
}

func (o *owners) killOne(ctx context.Context, by *apiv1.User, e *entry) error {
	return o.changeMember(ctx, e, killEdit(by))
}

// KillOpen ends all tasks of a workspace that have no Owner and have not ended. Its error has the code
// PermissionDenied if the user may not kill some of them.
func (o *owners) KillOpen(ctx context.Context, by *apiv1.User, workspace int32) error {
	var failed []error
	for _, e := range o.reg.listWhere(func(s *snapshot) bool {
		return !kindOf(s.task.Kind).owned && s.task.Workspace == workspace && !s.hasEnded()
	}) {
		err := checkAllowed(by, e.latestSnapshot().task, "kill")
		if err == nil {
			err = o.killOne(ctx, by, e)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// Preempt asks an allocation to checkpoint and stop, as the scheduler does to reclaim slots; the task is
// run again from there. The errors have the codes NotFound, PermissionDenied, and FailedPrecondition for
// a task that would not be run again.
func (o *owners) Preempt(ctx context.Context, by *apiv1.User, id string) error {
	e, _, found, err := o.findAllocation(ctx, rm.AllocationID(id))
	if err == nil && !found {
		err = status.Missing("allocation", id)
	}
	if err != nil {
		return err
	}
	task := e.latestSnapshot().task
	if err := checkAllowed(by, task, "preempt"); err != nil {
		return err
	}
	if !task.Preemptible {
		return status.New(status.FailedPrecondition, "task %s is not preemptible and would not be run again; kill it instead", task.ID)
	}
	return o.reg.managerOf().Preempt(ctx, rm.AllocationID(id), "preempted by user "+by.GetUsername())
}

// checkAllowed returns an error with the code PermissionDenied unless the user owns the task or is an
// administrator. All users may read tasks.
func checkAllowed(by *apiv1.User, task lifecycle.Task, verb string) error {
	if by.GetAdmin() || by.GetId() == task.UserID {
		return nil
	}
	return status.New(status.PermissionDenied, "only its owner %s or an administrator may %s task %s", task.Username, verb, task.ID)
}

// SetPriority changes the priority of a command. The errors have the codes NotFound, PermissionDenied
// and InvalidArgument.
func (o *owners) SetPriority(ctx context.Context, by *apiv1.User, req *apiv1.SetCommandPriorityRequest) (*apiv1.SetCommandPriorityResponse, error) {
	changed, err := o.SetKindPriority(ctx, by, lifecycle.Command, req.GetCommandId(), int(req.GetPriority()))
	if err != nil {
		return nil, err
	}
	return &apiv1.SetCommandPriorityResponse{Command: changed}, nil
}

// SetKindPriority is SetPriority for a task of a kind.
func (o *owners) SetKindPriority(ctx context.Context, by *apiv1.User, k lifecycle.Kind, id string, priority int) (*apiv1.Command, error) {
	e, err := o.views.findKind(ctx, k, id)
	if err != nil {
		return nil, err
	}
	if err := o.ChangeJob(ctx, by, rm.JobID(id), rm.Change{Priority: &priority}); err != nil {
		return nil, err
	}
	return o.views.showCommand(e.latestSnapshot()), nil
}

// The range of a job's priority, as in Determined 0.38.1.
const (
	highestPriority = 1
	lowestPriority  = 99
)

// ChangeJob alters a job in its queue, and stores the change for the task's later allocations and for a
// restart. The errors have the codes NotFound, PermissionDenied, InvalidArgument, and FailedPrecondition
// for a task that has ended.
func (o *owners) ChangeJob(ctx context.Context, by *apiv1.User, id rm.JobID, c rm.Change) error {
	if owner, found := o.ownerOfJob(id); found {
		if err := checkPriority(c); err != nil {
			return err
		}
		return owner.ChangeJob(ctx, by, id, c)
	}
	e, found, err := o.findTask(ctx, rm.TaskID(id))
	if err == nil && !found {
		err = status.Missing("job", string(id))
	}
	if err != nil {
		return err
	}
	s, manager := e.latestSnapshot(), o.reg.managerOf()
	if err := checkAllowed(by, s.task, "change"); err != nil {
		return err
	}
	if err := checkPriority(c); err != nil {
		return err
	}
	if s.hasEnded() {
		return status.New(status.FailedPrecondition, "task %s has ended; its job is no longer queued", id)
	}
	if manager == nil {
		return errStarting()
	}
	if err := checkQueued(s.task); err != nil {
		return err
	}
	if c, err = o.policies.limitChange(by, s.task.Pool, o.views.effectivePriority(&s), c); err != nil {
		return err
	}
	switch err := manager.Change(ctx, id, c); {
	case isForbidden(err):
		return status.New(status.PermissionDenied, "%v", err)
	case errors.Is(err, rm.ErrUnknownJob):
		return status.Missing("job", string(id))
	case err != nil:
		return status.New(status.InvalidArgument, "%v", err)
	}
	return o.records.applyChange(ctx, e, changeTask(c))
}

// limitChange is described at owned.LimitChange.
func (p *policies) limitChange(by *apiv1.User, pool string, priority int, c rm.Change) (rm.Change, error) {
	set(&pool, c.Pool)
	set(&priority, c.Priority)
	allowed := p.policyOf(by.GetId(), pool)
	c.MinPriority = allowed.MinPriority
	if c.Pool == nil && c.Priority == nil {
		return c, nil
	}
	return c, checkAsked(allowed, policy.Asked{Priority: priority})
}

// checkAsked returns PermissionDenied if the policy forbids a request.
func checkAsked(p policy.Policy, asked policy.Asked) error {
	if err := policy.Check(p, asked); err != nil {
		return status.New(status.PermissionDenied, "%v", err)
	}
	return nil
}

// isForbidden reports whether the resource manager refuses a change because of the user's policy.
func isForbidden(err error) bool {
	_, forbidden := errors.AsType[*rm.PriorityError](err)
	return forbidden
}

func checkPriority(c rm.Change) error {
	if p := c.Priority; p != nil && (*p < highestPriority || *p > lowestPriority) {
		return status.New(status.InvalidArgument, "priority: must be between %d and %d (is %d)", highestPriority, lowestPriority, *p)
	}
	return nil
}

// ownerOfJob returns the owner of a job's tasks, and reports whether there is one.
func (o *owners) ownerOfJob(id rm.JobID) (Owner, bool) {
	for _, e := range o.reg.listJob(id) {
		return o.reg.ownerOf(e.latestSnapshot().task.Kind)
	}
	return nil, false
}

// changeTask applies a change of its job to a task, for the later allocations.
func changeTask(c rm.Change) edit {
	return func(s snapshot) (snapshot, error) {
		set(&s.task.Priority, c.Priority)
		set(&s.task.Weight, c.Weight)
		set(&s.task.MaxSlots, c.MaxSlots)
		set(&s.task.Pool, c.Pool)
		return s, nil
	}
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
