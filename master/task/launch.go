package task

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/archive"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/petname"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// launches creates tasks from the submissions of users.
type launches struct {
	*shared

	records  *records
	contexts *contexts
	views    *views
	policies *policies
	runs     *runs
}

// Launch accepts a command of user. It returns once the command is stored, and a stored command runs
// even if this process ends. With a request id, a repeated submission of the same user returns the
// command of the first one. Contents, if not nil, returns the contents of the request's files, which
// then have none themselves.
//
// The errors have the codes InvalidArgument, NotFound for a template, PermissionDenied for a user who
// may not run tasks, and Unavailable until the resource manager is attached.
func (l *launches) Launch(ctx context.Context, user *apiv1.User, req *apiv1.LaunchCommandRequest,
	contents func(file int) (io.Reader, int64),
) (*apiv1.LaunchCommandResponse, error) {
	return l.LaunchKind(ctx, lifecycle.Command, user, req, contents)
}

// LaunchKind is Launch for a task of a kind.
func (l *launches) LaunchKind(ctx context.Context, k lifecycle.Kind, user *apiv1.User, req *apiv1.LaunchCommandRequest,
	contents func(file int) (io.Reader, int64),
) (*apiv1.LaunchCommandResponse, error) {
	return l.launch(ctx, draft{id: taskID(user, req.GetRequestId()), kind: k, user: user, req: req, contents: contents})
}

func (l *launches) launch(ctx context.Context, d draft) (*apiv1.LaunchCommandResponse, error) {
	if err := l.policies.checkMayRun(d.user); err != nil {
		return nil, err
	}
	manager := l.reg.managerOf()
	if manager == nil {
		return nil, errStarting()
	}
	if d.req.GetArray() != nil {
		return l.launchArray(ctx, manager, d)
	}
	var cfg spec.Config
	e, earlier, err := l.launchOnce(ctx, d.id, d.req.GetRequestId(), func(e *entry) (err error) {
		cfg, err = l.createTask(ctx, manager, e, d)
		return err
	})
	if earlier != nil || err != nil {
		return earlier, err
	}
	if err := l.runs.submitCurrent(ctx, manager, e); err != nil {
		// The task is stored and will be submitted again, at the next start at the latest.
		l.cfg.Log.Warn("cannot submit a new task to the resource manager", "task_id", d.id, "err", err)
	}
	return l.views.replyLaunched(e.latestSnapshot(), cfg)
}

// launchOnce creates a task, or returns the response of an earlier call that has created it.
func (l *launches) launchOnce(ctx context.Context, id rm.TaskID, request string, make func(*entry) error) (e *entry, earlier *apiv1.LaunchCommandResponse, err error) {
	for {
		e, fresh, err := l.reg.makeTask(id, func(e *entry) (bool, error) {
			var err error
			if earlier, err = l.answerEarlier(ctx, id, request); earlier != nil || err != nil {
				return false, err
			}
			return true, make(e)
		})
		if fresh {
			return e, earlier, err
		}
		// Another call has created the task, or is creating it.
		if earlier, err := l.awaitLaunched(e); earlier != nil || err != nil {
			return nil, earlier, err
		}
	}
}

// requests is the namespace of the task ids that are derived from request ids.
const requests = "6f1c2d0e-53a4-4c80-9b38-6f6f2b1f0d61"

// taskID returns a random id, or one derived from a request id, so that a repeated submission finds the
// first one even after a restart.
func taskID(user *apiv1.User, request string) rm.TaskID {
	if request == "" {
		return rm.TaskID(uuid.NewString())
	}
	space := uuid.NewSHA1(uuid.NameSpaceOID, []byte(requests))
	return rm.TaskID(uuid.NewSHA1(space, fmt.Appendf(nil, "%d/%s", user.GetId(), request)).String())
}

// awaitLaunched waits for the call that creates the task and returns its response. It returns nil
// without an error if the task was not created.
func (l *launches) awaitLaunched(e *entry) (*apiv1.LaunchCommandResponse, error) {
	e.change.Lock()
	defer e.change.Unlock()
	if e.gone {
		return nil, nil //nolint:nilnil // see above
	}
	return l.views.launchReply(e.latestSnapshot())
}

// answerEarlier returns the response of a repeated submission whose task is no longer in memory, or nil
// without an error if there is no such task. It returns an error if the task is no longer listed either,
// because it would run twice.
func (l *launches) answerEarlier(ctx context.Context, id rm.TaskID, request string) (*apiv1.LaunchCommandResponse, error) {
	if request == "" {
		return nil, nil //nolint:nilnil // see above
	}
	list, err := readEnded(ctx, l.cfg.Store, []string{string(id)})
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		return l.views.launchReply(list[0])
	}
	_, past, err := toDocs().past.Get(ctx, l.cfg.Store, string(id))
	if err == nil && past {
		err = status.New(status.AlreadyExists, "request_id: already used for task %s, which has ended and is no longer listed; send another request_id", id)
	}
	return nil, err
}

// draft is a task that has not been accepted yet.
type draft struct {
	id   rm.TaskID
	kind lifecycle.Kind
	user *apiv1.User
	req  *apiv1.LaunchCommandRequest
	// contents are the contents of the files; nil if the files include them.
	contents archive.Contents
	// board is the TensorBoard; nil for other kinds.
	board *Board
	// config is the request's configuration, merged over its template.
	config *structpb.Struct
	// warnings are about the template.
	warnings []string
	// family are the other tasks of a generic one.
	family *family
}

// createTask checks and stores a new task, and returns its configuration. The caller holds e.change.
func (l *launches) createTask(ctx context.Context, manager rm.ResourceManager, e *entry, d draft) (spec.Config, error) {
	task, cfg, err := l.acceptTask(ctx, manager, d, 1)
	if err != nil {
		return cfg, err
	}
	first := lifecycle.First(task, task.Submitted)
	defer d.family.release()
	err = l.storeTask(ctx, &task, first, d)
	l.reg.usage.releaseTasks(task.UserID, 1)
	if err != nil {
		return cfg, err
	}
	// The first line is stored with the task. It is copied into the log by the next change of the task,
	// or before the log is read.
	l.cfg.Logs.Begin(string(task.ID))
	e.publishSnapshot(snapshot{task: task, allocations: []lifecycle.Allocation{first}})
	l.reg.follow(task, e)
	l.reg.serve(task, e)
	return cfg, nil
}

// acceptTask checks a submission of n tasks, and returns the task and its configuration. It returns an
// error if the user may not run it or if it can never run. On success n tasks are granted, which the
// caller releases.
func (l *launches) acceptTask(ctx context.Context, manager rm.ResourceManager, d draft, n int) (task lifecycle.Task, cfg spec.Config, err error) {
	if err := l.cfg.Quota.Check(ownerOf(d.user), 0); err != nil {
		return task, cfg, err
	}
	if err := l.reg.usage.grantTasks(l.cfg.Limits, d.user.GetId(), n); err != nil {
		return task, cfg, err
	}
	defer func() {
		if err != nil {
			l.reg.usage.releaseTasks(d.user.GetId(), n)
		}
	}()
	if d, err = l.applyTemplate(ctx, d); err != nil {
		return task, cfg, err
	}
	if task, cfg, err = l.makeTask(manager, d); err != nil {
		return task, cfg, err
	}
	if task.After, err = l.dependenciesOf(ctx, d); err != nil {
		return task, cfg, err
	}
	files, err := l.contexts.filesOf(ctx, d)
	if err != nil {
		return task, cfg, err
	}
	task.HasContext, task.HasHook = len(files) > 0, archive.Has(files, spec.HookFile)
	d.family.join(&task)
	request := l.policies.requestOf(task, lifecycle.First(task, task.Submitted))
	if err := judgeRefusal(manager.Validate(request), request.SingleNode || l.cfg.LaunchError, &task); err != nil {
		return task, cfg, err
	}
	if m, ok := manager.(rm.Remarks); ok {
		task.Warnings = append(task.Warnings, m.Remarks(request)...)
	}
	return task, cfg, nil
}

// storeTask stores a new task with its files. It deletes the files again if the task is not stored.
func (l *launches) storeTask(ctx context.Context, task *lifecycle.Task, first lifecycle.Allocation, d draft) error {
	var err error
	if from := d.family.sourceOfFiles(); from != nil {
		task.ContextBytes, err = l.contexts.copyFiles(ctx, task.ID, from, task.Submitted)
	} else {
		task.ContextBytes, err = l.contexts.storeFiles(ctx, task, d.req.GetFiles(), d.contents)
	}
	if err == nil {
		err = l.reg.usage.checkFiles(l.cfg.Limits, d.user.GetId(), task.ContextBytes)
	}
	if err == nil {
		err = l.cfg.Quota.Check(ownerOf(d.user), task.ContextBytes)
	}
	if err == nil {
		err = l.holdParent(d.family)
	}
	if err == nil {
		err = l.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			l.cfg.Quota.Add(tx, task.UserID, quota.Contexts, task.ContextBytes)
			return errors.Join(l.contexts.claimContext(ctx, tx, d, task.ID), putTask(tx, *task), putAllocation(tx, first))
		})
	}
	if errors.Is(err, store.ErrOutcomeUnknown) {
		err = l.checkStored(ctx, task.ID, err)
	}
	// The files are kept if the outcome is unknown, because the task may exist after a restart.
	if err == nil || !task.HasContext || errors.Is(err, store.ErrOutcomeUnknown) {
		return launchError(err)
	}
	if drop := l.contexts.dropParts(context.WithoutCancel(ctx), task.ID); drop != nil {
		l.cfg.Log.Warn("cannot remove the files of a task that was not stored; they are removed with the next collection", "task_id", task.ID, "err", drop)
	}
	return launchError(err)
}

// launchError wraps an error, except for a *status.Error.
func launchError(err error) error {
	if _, refusal := errors.AsType[*status.Error](err); err == nil || refusal {
		return err
	}
	return fmt.Errorf("launch command: %w", err)
}

// checkStored returns nil if a task is stored whose write had an unknown outcome.
func (l *launches) checkStored(ctx context.Context, id rm.TaskID, cause error) error {
	_, found, err := toDocs().tasks.Get(ctx, l.cfg.Store, string(id))
	if err != nil || !found {
		return errors.Join(cause, err)
	}
	return nil
}

// judgeRefusal handles the result of the resource manager's validation. A task that does not fit sets
// Exceeds if it may wait for more machines of the same kind; any other error is returned with the code
// InvalidArgument.
func judgeRefusal(err error, final bool, task *lifecycle.Task) error {
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*rm.Unfulfillable](err); is && !final {
		task.Exceeds = true
		return nil
	}
	return status.New(status.InvalidArgument, "%v", err)
}

// asked returns the configuration of a submission as its kind permits it, before the defaults.
func (d *draft) asked(k kind) (spec.Config, error) {
	asked, err := spec.Decode(d.config)
	if err != nil {
		return asked, err
	}
	if d.board != nil {
		if asked, err = spec.Inherit(asked, d.board.From); err != nil {
			return asked, err
		}
	}
	if n := asked.Resources.Slots; k.slotless {
		if n != nil && *n != 0 {
			d.warnings = append(d.warnings, "resources.slots has no effect: a "+k.noun+" uses no slots")
		}
		asked.Resources.Slots = new(0)
	}
	if k.entrypoint != nil {
		if len(asked.Entrypoint) > 0 {
			d.warnings = append(d.warnings, "entrypoint has no effect: a "+k.noun+" has a program of its own")
		}
		asked.Entrypoint = k.entrypoint
	}
	return asked, nil
}

// nameOf returns the given name of a task, or a generated one for an empty name.
func (d *draft) nameOf(given string, k kind) (string, error) {
	if given != "" {
		return given, nil
	}
	id, err := uuid.Parse(string(d.id))
	if err != nil {
		return "", fmt.Errorf("name task %s: %w", d.id, err)
	}
	return k.title + " (" + petname.Of(id) + ")", nil
}

// makeTask builds the task and its configuration from the submission.
func (l *launches) makeTask(manager rm.ResourceManager, d draft) (task lifecycle.Task, cfg spec.Config, err error) {
	k := kindOf(d.kind)
	if len(d.req.GetData()) > 0 && !k.takesData {
		return task, cfg, status.New(status.InvalidArgument, "data: not supported for %ss; send files instead", k.noun)
	}
	if err := CheckLabels(d.req.GetLabels()); err != nil {
		return task, cfg, err
	}
	asked, err := d.asked(k)
	if err != nil {
		return task, cfg, status.New(status.InvalidArgument, "%v", err)
	}
	at, err := l.policies.findPlace(manager, d.user, d.req.GetWorkspaceId(), asked.Resources)
	if err != nil {
		return task, cfg, err
	}
	pool, nodes := at.pool, asked.Resources.IsSingleNode
	if k.choosesNodes {
		asked.Resources.IsSingleNode = nil // it is valid, and kept
	}
	defaults, allowed := l.policies.defaultsFor(d.user, pool), l.policies.policyOf(d.user.GetId(), pool)
	cfg, warnings, err := spec.Complete(asked, defaults, k.settings...)
	if err == nil && k.complete != nil {
		err = k.complete(l.cfg, &cfg)
	}
	if err != nil {
		return task, cfg, status.New(status.InvalidArgument, "%v", err)
	}
	cfg.Resources.ResourcePool, cfg.Resources.IsSingleNode = pool, nodes
	if err := checkAsked(allowed, spec.Asks(asked, cfg, at.unix)); err != nil {
		return task, cfg, err
	}
	if cfg.Description, err = d.nameOf(cfg.Description, k); err != nil {
		return task, cfg, err
	}
	stored, err := spec.Store(cfg)
	if err != nil {
		return task, cfg, err
	}
	r := cfg.Resources
	task = lifecycle.Task{
		ID: d.id, Kind: d.kind, Name: cfg.Description, UserID: d.user.GetId(), Username: d.user.GetUsername(),
		Unix: at.unix, Workspace: at.workspace.ID, Submitted: l.cfg.Now().UTC(),
		Pool: pool, Slots: *r.Slots, Weight: r.Weight, Preemptible: r.Preemptible,
		PreemptionTimeout: timeoutOf(defaults), Config: stored, Warnings: append(d.warnings, warnings...),
		PodSpec: cfg.Environment.PodSpec.JSON(), Labels: d.req.GetLabels(),
		SingleNode: k.choosesNodes && nodes != nil && *nodes,
	}
	if k.prepare != nil {
		k.prepare(cfg, &task)
	}
	if d.board != nil {
		task.Board = &d.board.Shows
	}
	set(&task.MaxSlots, r.MaxSlots)
	set(&task.Priority, r.Priority)
	return task, cfg, nil
}
