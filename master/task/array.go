package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

const (
	// mostOfArray is the maximum number of tasks in an array: one transaction can write them in well
	// below a second, and it equals the default limit of a user's tasks.
	mostOfArray = 10_000
	// arrayBytes is the maximum size of the configurations of all tasks of an array: 13 KB each for the
	// largest array. Most configurations take two.
	arrayBytes = 128 << 20
	// arrayWriters is the number of tasks of an array that are ended concurrently. Concurrent writes are
	// committed together.
	arrayWriters = 64
)

// checkArray returns an error if a submitted array is invalid.
func checkArray(req *apiv1.LaunchCommandRequest) error {
	a := req.GetArray()
	switch {
	case a.GetSize() < 1 || a.GetSize() > mostOfArray:
		return status.New(status.InvalidArgument, "array.size: must be 1 to %d (is %d)", mostOfArray, a.GetSize())
	case a.GetFirst() < 0:
		return status.New(status.InvalidArgument, "array.first: must be at least 0 (is %d)", a.GetFirst())
	case int64(a.GetFirst())+int64(a.GetSize())-1 > int64(mostIndex):
		return status.New(status.InvalidArgument, "array: the last index must be at most %d", mostIndex)
	case len(req.GetFiles()) > 0:
		return status.New(status.InvalidArgument, "files: not supported for arrays; send them as a context, and its ID as context_id")
	}
	return nil
}

const mostIndex = 1<<31 - 1

// memberID returns the id of the task at a position of an array, from 0. It is derived from the array's
// id, so that a repeated submission finds the tasks of the first one.
func memberID(array rm.TaskID, position int) rm.TaskID {
	space, err := uuid.Parse(string(array))
	if err != nil { // the id of a user's request; arrays have UUIDs
		return ""
	}
	return rm.TaskID(uuid.NewSHA1(space, []byte(strconv.Itoa(position))).String())
}

// arrayVariables returns the variables that identify a task within its array.
func arrayVariables(a *lifecycle.Array) []string {
	if a == nil {
		return nil
	}
	return []string{
		"DET_TASK_ARRAY_ID=" + a.ID,
		"DET_TASK_ARRAY_INDEX=" + strconv.Itoa(a.Index),
		"DET_TASK_ARRAY_SIZE=" + strconv.Itoa(a.Size),
	}
}

// launchArray accepts all tasks of an array in one transaction, or none. It returns the response of the
// first task.
func (l *launches) launchArray(ctx context.Context, manager rm.ResourceManager, d draft) (*apiv1.LaunchCommandResponse, error) {
	if err := checkArray(d.req); err != nil {
		return nil, err
	}
	array := d.id
	d.id = memberID(array, 0)
	var entries []*entry
	var cfg spec.Config
	head, earlier, err := l.launchOnce(ctx, d.id, d.req.GetRequestId(), func(head *entry) (err error) {
		entries, cfg, err = l.acceptArray(ctx, manager, head, array, d)
		return err
	})
	if earlier != nil || err != nil {
		return earlier, err
	}
	l.submitArray(ctx, manager, entries)
	return l.views.replyLaunched(head.latestSnapshot(), cfg)
}

// acceptArray checks and stores the tasks of an array. The id of the first one is reserved.
func (l *launches) acceptArray(ctx context.Context, manager rm.ResourceManager, head *entry, array rm.TaskID, d draft) ([]*entry, spec.Config, error) {
	size := int(d.req.GetArray().GetSize())
	task, cfg, err := l.acceptTask(ctx, manager, d, size)
	if err != nil {
		return nil, cfg, err
	}
	members := membersOf(task, string(array), int(d.req.GetArray().GetFirst()), size)
	entries, err := l.createArray(ctx, head, members, d)
	if err != nil {
		l.reg.usage.releaseTasks(task.UserID, size)
	}
	return entries, cfg, err
}

// createArray stores the tasks of an array. The id of the first one is reserved and remains locked.
// On error, none of the others exists.
func (l *launches) createArray(ctx context.Context, head *entry, members []snapshot, d draft) ([]*entry, error) {
	err := checkArraySize(members)
	entries := []*entry{head}
	for _, m := range members[1:] {
		if err != nil {
			break
		}
		e, fresh := l.reg.reserveID(m.task.ID)
		if !fresh {
			err = status.New(status.AlreadyExists, "array: task %s already exists; send another request_id", m.task.ID)
			break
		}
		defer e.change.Unlock()
		entries = append(entries, e)
	}
	if err == nil {
		err = l.storeArray(ctx, members, d)
	}
	for i, e := range entries {
		switch {
		case err == nil:
			l.reg.usage.releaseTasks(members[i].task.UserID, 1)
			e.publishSnapshot(members[i])
			l.reg.follow(members[i].task, e)
		case i > 0:
			l.reg.abandonTask(members[i].task.ID, e)
		}
	}
	return entries, err
}

// checkArraySize returns an error if one transaction would write too much: each task has a copy of the
// configuration.
func checkArraySize(members []snapshot) error {
	t := members[0].task
	each := len(t.Config) + len(t.PodSpec)
	if each*len(members) <= arrayBytes {
		return nil
	}
	return status.New(status.InvalidArgument,
		"array: %d tasks with a configuration of %d bytes each exceed the maximum of %d bytes; submit at most %d at once, or move large data into the image",
		len(members), each, arrayBytes, arrayBytes/each)
}

// membersOf returns the tasks of an array, derived from one task. They are queued in the order of their
// indices.
func membersOf(task lifecycle.Task, array string, first, size int) []snapshot {
	out := make([]snapshot, 0, size)
	for i := range size {
		t := task
		t.ID = memberID(rm.TaskID(array), i)
		t.Array = &lifecycle.Array{ID: array, Index: first + i, Size: size}
		t.Name = fmt.Sprintf("%s [%d]", task.Name, first+i)
		t.Submitted = task.Submitted.Add(time.Duration(i) * time.Microsecond)
		out = append(out, snapshot{task: t, allocations: []lifecycle.Allocation{lifecycle.First(t, t.Submitted)}})
	}
	return out
}

// storeArray writes many tasks with few statements: a remote database executes about a thousand
// statements a second, and all other writers wait.
func (l *launches) storeArray(ctx context.Context, members []snapshot, d draft) error {
	var tasks []store.Doc[lifecycle.Task]
	var allocations []store.Doc[lifecycle.Allocation]
	var rows []store.TaskRow
	var ids []rm.TaskID
	for _, s := range members {
		a := s.currentAllocation()
		tasks = append(tasks, store.Doc[lifecycle.Task]{ID: string(s.task.ID), Parent: s.task.Array.ID, Value: s.task})
		allocations = append(allocations, store.Doc[lifecycle.Allocation]{ID: string(a.ID), Parent: string(a.Task), At: a.Created, Value: a})
		rows = append(rows, rowOf(s.task))
		ids = append(ids, s.task.ID)
	}
	err := l.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(store.AddTaskRows(tx, rows), toDocs().tasks.PutAll(tx, tasks), toDocs().allocations.PutAll(tx, allocations),
			l.contexts.claimContext(ctx, tx, d, ids...))
	})
	if errors.Is(err, store.ErrOutcomeUnknown) {
		err = l.checkStored(ctx, members[0].task.ID, err)
	}
	return launchError(err)
}

// submitArray submits the tasks of an array to the resource manager. Errors are only logged: the tasks
// are stored and will be submitted again.
func (l *launches) submitArray(ctx context.Context, manager rm.ResourceManager, entries []*entry) {
	for _, e := range entries {
		if err := l.runs.submitCurrent(ctx, manager, e); err != nil {
			l.cfg.Log.Warn("cannot submit a new task to the resource manager", "task_id", e.latestSnapshot().task.ID, "err", err)
		}
	}
}

// findArray returns a task of a listed array. Its error has the code NotFound.
func (v *views) findArray(ctx context.Context, id string) (lifecycle.Task, error) {
	e, found, err := v.findTask(ctx, memberID(rm.TaskID(id), 0))
	if err != nil {
		return lifecycle.Task{}, err
	}
	if found && e.latestSnapshot().task.Array != nil {
		return e.latestSnapshot().task, nil
	}
	// The first task may have ended long before others.
	for _, e := range v.openOfArray(id) {
		return e.latestSnapshot().task, nil
	}
	return lifecycle.Task{}, status.Missing("task array", id)
}

// openOfArray returns the tasks of an array that have not ended.
func (v *views) openOfArray(id string) []*entry {
	return v.reg.listWhere(func(s *snapshot) bool { return s.task.Array != nil && s.task.Array.ID == id && !s.hasEnded() })
}

// ArrayCommands returns the listed commands of an array by index. Its error has the code NotFound.
func (v *views) ArrayCommands(ctx context.Context, id string) ([]*apiv1.Command, error) {
	member, err := v.findArray(ctx, id)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, member.Array.Size)
	for i := range member.Array.Size {
		ids = append(ids, string(memberID(rm.TaskID(id), i)))
	}
	var out []*apiv1.Command
	for some := range slices.Chunk(ids, shownTogether) {
		if out, err = v.appendCommands(ctx, out, some); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// KillArray ends the tasks of an array that have not ended, and returns their number. Each kill is
// stored before it is carried out. After an error some tasks may be killed, and the call may be
// repeated. The errors have the codes NotFound and PermissionDenied.
func (o *owners) KillArray(ctx context.Context, by *apiv1.User, id string) (*apiv1.KillTaskArrayResponse, error) {
	member, err := o.views.findArray(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := checkAllowed(by, member, "kill"); err != nil {
		return nil, err
	}
	open := o.views.openOfArray(id)
	var g errgroup.Group
	g.SetLimit(arrayWriters)
	for _, e := range open {
		g.Go(func() error { return o.killOne(ctx, by, e) })
	}
	return &apiv1.KillTaskArrayResponse{ArrayId: id, Killed: int32(len(open))}, g.Wait() //nolint:gosec // at most mostOfArray
}
