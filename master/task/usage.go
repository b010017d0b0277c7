package task

import (
	"sync"

	"github.com/det-deploy/det-deploy/master/accounting"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Limits are the limits on the tasks of one user; zero means unlimited.
type Limits struct {
	// Tasks is the maximum number of queued and running tasks, and Contexts the maximum size of their
	// files in bytes.
	Tasks    int
	Contexts int64
}

// usage tracks the usage of each user's tasks that have not ended.
type usage struct {
	mu sync.Mutex // guards of
	of map[int32]taken
}

type taken struct {
	tasks    int
	contexts int64
	// coming is the number of tasks that were granted but not created yet.
	coming int
}

func newUsage() *usage { return &usage{of: map[int32]taken{}} }

// noteChange records the transition of a task from one snapshot, nil for none, to the next. Tasks of
// owners do not count.
func (u *usage) noteChange(from, to *snapshot) {
	if kindOf(to.task.Kind).owned {
		return
	}
	was, is := from != nil && from.task.Ended.IsZero(), to.task.Ended.IsZero()
	switch {
	case !was && is:
		u.addUsage(to.task, 1)
	case was && !is:
		u.addUsage(to.task, -1)
	}
}

func (u *usage) addUsage(t lifecycle.Task, sign int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.of[t.UserID]
	n.tasks += sign
	n.contexts += int64(sign) * t.ContextBytes
	u.setUsage(t.UserID, n)
}

// grantTasks reserves a number of tasks for a user, all or none. The caller calls releaseTasks when each
// is created or abandoned. It returns an error with the code ResourceExhausted if the limit is exceeded.
func (u *usage) grantTasks(l Limits, user int32, more int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.of[user]
	has := n.tasks + n.coming
	switch {
	case l.Tasks > 0 && has >= l.Tasks:
		return status.New(status.ResourceExhausted,
			"you have %d unfinished tasks, which is the limit security.limits.tasks_per_user; wait until some end, or kill them", has)
	case l.Tasks > 0 && has+more > l.Tasks:
		return status.New(status.ResourceExhausted,
			"you have %d unfinished tasks, and these are %d more, above the limit security.limits.tasks_per_user of %d; "+
				"wait until some end, or kill them", has, more, l.Tasks)
	}
	n.coming += more
	u.of[user] = n
	return nil
}

// releaseTasks ends the reservation of a number of tasks.
func (u *usage) releaseTasks(user int32, granted int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.of[user]
	n.coming -= granted
	u.setUsage(user, n)
}

// setUsage updates the usage of a user. The caller holds mu.
func (u *usage) setUsage(user int32, n taken) {
	if n == (taken{}) {
		delete(u.of, user)
		return
	}
	u.of[user] = n
}

// checkFiles returns an error if the files of a user's next task would exceed the limit.
func (u *usage) checkFiles(l Limits, user int32, files int64) error {
	u.mu.Lock()
	n := u.of[user]
	u.mu.Unlock()
	if l.Contexts > 0 && n.contexts+files > l.Contexts {
		return status.New(status.ResourceExhausted,
			"the files of your unfinished tasks take %d bytes and these %d more, above the limit security.limits.context_bytes_per_user of %d; "+
				"wait until some end, or exclude files that the task does not need with a .detignore file", n.contexts, files, l.Contexts)
	}
	return nil
}

// accountEntry returns the accounting entry of an allocation; it reports false if it was never placed.
func accountEntry(t lifecycle.Task, a lifecycle.Allocation) (accounting.Entry, bool) {
	e := accounting.Entry{
		Allocation: a.ID, Task: t.ID, Job: kindOf(t.Kind).job(t), Kind: string(t.Kind),
		UserID: t.UserID, Username: t.Username, Workspace: t.Workspace,
		Pool: a.Pool, Slots: t.Slots, Start: a.Assigned, Ran: a.Started, Price: a.Price,
	}
	if a.End != nil {
		e.End = a.End.At
	}
	return e, !a.Assigned.IsZero()
}

// putAccount writes the accounting entry of an allocation that has just ended.
func putAccount(tx *store.Tx, was *lifecycle.Allocation, t *lifecycle.Task, a *lifecycle.Allocation) error {
	if a.End == nil || was != nil && was.End != nil {
		return nil
	}
	e, placed := accountEntry(*t, *a)
	if !placed {
		return nil
	}
	return accounting.Put(tx, e)
}

// Placed returns the accounting entries of the allocations that are placed now.
func (v *views) Placed() []accounting.Entry {
	var out []accounting.Entry
	for _, e := range v.reg.listTasks() {
		s := e.latestSnapshot()
		if a := s.currentAllocation(); a.End == nil {
			if entry, placed := accountEntry(s.task, a); placed {
				out = append(out, entry)
			}
		}
	}
	return out
}
