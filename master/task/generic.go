package task

import (
	"context"
	"io"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

const (
	// mostAncestors bounds the depth of a tree of generic tasks, and mostChildren the children of one
	// that have not ended.
	mostAncestors = 10
	mostChildren  = 1000
)

// family is what a submission of a generic task says about other tasks. Its methods accept nil, for tasks of
// other kinds.
type family struct {
	// parent, and source from which the task is forked, are nil for none.
	parent, source *entry
	// filesOf is the task whose files are copied, nil for none.
	filesOf *entry
	noPause bool
	// held reports that the parent is locked.
	held bool
}

// CreateGeneric is Launch for a generic task in a workspace.
func (l *launches) CreateGeneric(ctx context.Context, user *apiv1.User, workspace int32, req *apiv1.CreateGenericTaskRequest,
	contents func(file int) (io.Reader, int64),
) (*apiv1.CreateGenericTaskResponse, error) {
	of, err := l.familyOf(ctx, user, req)
	if err != nil {
		return nil, err
	}
	config, err := genericConfig(req, of)
	if err != nil {
		return nil, err
	}
	made, err := l.launch(ctx, draft{
		id: taskID(user, ""), kind: lifecycle.Generic, user: user, contents: contents, family: of,
		req: &apiv1.LaunchCommandRequest{Config: config, Files: req.GetContextDirectory(), WorkspaceId: workspace},
	})
	if err != nil {
		return nil, err
	}
	return &apiv1.CreateGenericTaskResponse{TaskId: made.GetCommand().GetId(), Warnings: made.GetWarnings()}, nil
}

// familyOf finds the tasks that a request names. The user must own those whose files are copied, and a parent.
func (l *launches) familyOf(ctx context.Context, user *apiv1.User, req *apiv1.CreateGenericTaskRequest) (of *family, err error) {
	of = &family{noPause: req.GetNoPause()}
	if id := req.GetForkedFrom(); id != "" {
		if of.source, err = l.findRelative(ctx, user, "forkedFrom", id, "fork"); err != nil {
			return of, err
		}
	}
	if id := req.GetParentId(); id != "" {
		if of.parent, err = l.findRelative(ctx, user, "parentId", id, "add children to"); err != nil {
			return of, err
		}
		if err := l.checkParent(of.parent); err != nil {
			return of, err
		}
	}
	switch {
	case req.GetConfig() == "" && of.source == nil:
		return of, status.New(status.InvalidArgument, "config: must be set, unless the task is forked from another one")
	case req.GetInheritContext() && of.parent == nil:
		return of, status.New(status.InvalidArgument, "inheritContext: needs a parentId, whose files the task inherits")
	case req.GetInheritContext() && len(req.GetContextDirectory()) > 0:
		return of, status.New(status.InvalidArgument, "inheritContext: cannot be combined with contextDirectory; send either")
	case req.GetInheritContext():
		of.filesOf = of.parent
	case len(req.GetContextDirectory()) == 0:
		of.filesOf = of.source
	}
	return of, nil
}

// findRelative returns the generic task that a field names.
func (l *launches) findRelative(ctx context.Context, user *apiv1.User, field, id, verb string) (*entry, error) {
	e, err := l.views.findKind(ctx, lifecycle.Generic, id)
	if err != nil {
		return nil, status.New(status.Of(err), "%s: %v", field, err)
	}
	return e, checkAllowed(user, e.latestSnapshot().task, verb)
}

// holdParent keeps the parent from being paused or killed until release, or returns an error if it was. Whoever
// pauses or kills it afterwards finds the child.
func (l *launches) holdParent(f *family) error {
	if f == nil || f.parent == nil {
		return nil
	}
	f.parent.change.Lock()
	f.held = true
	return l.checkParent(f.parent)
}

func (f *family) release() {
	if f != nil && f.held {
		f.held = false
		f.parent.change.Unlock()
	}
}

// checkParent returns an error unless a task may have another child now.
func (l *launches) checkParent(e *entry) error {
	s := e.latestSnapshot()
	switch id := s.task.ID; {
	case s.hasEnded() || s.currentAllocation().Killed != nil:
		return status.New(status.FailedPrecondition, "parentId: task %s has ended", id)
	case s.task.Paused:
		return status.New(status.FailedPrecondition, "parentId: task %s is paused; resume it first", id)
	case len(s.task.Ancestors) >= mostAncestors:
		return status.New(status.FailedPrecondition, "parentId: task %s has %d ancestors, which is the maximum", id, mostAncestors)
	case len(l.reg.listWhere(func(c *snapshot) bool { return parentOf(&c.task) == id && !c.hasEnded() })) >= mostChildren:
		return status.New(status.ResourceExhausted, "parentId: task %s has %d children that have not ended, which is the maximum; wait until some end", id, mostChildren)
	}
	return nil
}

// parentOf returns the parent of a task, or "".
func parentOf(t *lifecycle.Task) rm.TaskID {
	if len(t.Ancestors) == 0 {
		return ""
	}
	return t.Ancestors[len(t.Ancestors)-1]
}

// genericConfig returns the configuration of a request, or of the task from which it is forked.
func genericConfig(req *apiv1.CreateGenericTaskRequest, of *family) (*structpb.Struct, error) {
	if req.GetConfig() == "" {
		return spec.Stored(of.source.latestSnapshot().task.Config)
	}
	config, err := spec.ReadText(req.GetConfig())
	if err != nil {
		return nil, status.New(status.InvalidArgument, "%v", err)
	}
	return config, nil
}

// join adds a new task to its family.
func (f *family) join(task *lifecycle.Task) {
	if f == nil {
		return
	}
	if task.NoPause = f.noPause; f.source != nil {
		task.ForkedFrom = f.source.latestSnapshot().task.ID
	}
	if f.parent != nil {
		parent := f.parent.latestSnapshot().task
		task.Ancestors = append(slices.Clone(parent.Ancestors), parent.ID)
	}
	if from := f.sourceOfFiles(); from != nil {
		task.HasContext, task.HasHook = from.HasContext, from.HasHook
	}
}

// sourceOfFiles returns the task whose files are copied, or nil.
func (f *family) sourceOfFiles() *lifecycle.Task {
	if f == nil || f.filesOf == nil {
		return nil
	}
	return &f.filesOf.cur.Load().task
}

// showFamily sets the fields of a generic task.
func showFamily(out *apiv1.Task, s *snapshot) {
	state, noPause := genericState(s), s.task.NoPause
	out.TaskState, out.NoPause = &state, &noPause
	if parent := string(parentOf(&s.task)); parent != "" {
		out.ParentId = &parent
	}
	if from := string(s.task.ForkedFrom); from != "" {
		out.ForkedFrom = &from
	}
}

func genericState(s *snapshot) apiv1.GenericTaskState {
	last := &s.allocations[len(s.allocations)-1]
	switch pause := s.task.PauseState(last); {
	case s.hasEnded() && last.End != nil && last.End.Status == lifecycle.Success:
		return apiv1.GenericTaskState_GENERIC_TASK_STATE_COMPLETED
	case s.hasEnded() && last.End != nil && last.End.Cause == rm.CauseKilled:
		return apiv1.GenericTaskState_GENERIC_TASK_STATE_CANCELED
	case s.hasEnded():
		return apiv1.GenericTaskState_GENERIC_TASK_STATE_ERROR
	case last.Killed != nil:
		return apiv1.GenericTaskState_GENERIC_TASK_STATE_STOPPING_CANCELED
	case pause == lifecycle.Stopping:
		return apiv1.GenericTaskState_GENERIC_TASK_STATE_STOPPING_PAUSED
	case pause == lifecycle.Resting:
		return apiv1.GenericTaskState_GENERIC_TASK_STATE_PAUSED
	}
	return apiv1.GenericTaskState_GENERIC_TASK_STATE_ACTIVE
}

// GenericConfig returns the configuration of a generic task as JSON. The errors have the codes NotFound and
// PermissionDenied.
func (v *views) GenericConfig(ctx context.Context, by *apiv1.User, id string) (*apiv1.GetGenericTaskConfigResponse, error) {
	e, err := v.findKind(ctx, lifecycle.Generic, id)
	if err != nil {
		return nil, err
	}
	s := e.latestSnapshot()
	if err := checkAllowed(by, s.task, "read the configuration of"); err != nil {
		return nil, err
	}
	return &apiv1.GetGenericTaskConfigResponse{Config: *v.configText(s)}, nil
}
