package task

import (
	"sync"

	"github.com/det-deploy/det-deploy/master/accounting"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Limits is what the tasks of one user may take; zero is no limit.
type Limits struct {
	// Tasks is how many may be queued or run, and Contexts the bytes of the files
	// that came with them.
	Tasks    int
	Contexts int64
}

// usage is what each user's tasks that have not ended take.
type usage struct {
	mu sync.Mutex // guards of
	of map[int32]taken
}

type taken struct {
	tasks    int
	contexts int64
	// coming are tasks that were granted and are not there yet.
	coming int
}

func newUsage() *usage { return &usage{of: map[int32]taken{}} }

// noteChange notes that a task goes from one snapshot, nil for none, to the next. How many tasks
// an owner has at once is its own matter.
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

// grantTasks has so many tasks more counted of a user, all or none, until each is there or given up:
// see releaseTasks.
func (u *usage) grantTasks(l Limits, user int32, more int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.of[user]
	has := n.tasks + n.coming
	switch {
	case l.Tasks > 0 && has >= l.Tasks:
		return status.New(status.ResourceExhausted,
			"you have %d tasks that have not ended, which is the limit security.limits.tasks_per_user; wait for some to end, or kill them", has)
	case l.Tasks > 0 && has+more > l.Tasks:
		return status.New(status.ResourceExhausted,
			"you have %d tasks that have not ended, and these are %d more, above the limit security.limits.tasks_per_user of %d; "+
				"wait for some to end, or kill them", has, more, l.Tasks)
	}
	n.coming += more
	u.of[user] = n
	return nil
}

// releaseTasks ends the grant of so many tasks.
func (u *usage) releaseTasks(user int32, granted int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := u.of[user]
	n.coming -= granted
	u.setUsage(user, n)
}

// setUsage is called with mu held.
func (u *usage) setUsage(user int32, n taken) {
	if n == (taken{}) {
		delete(u.of, user)
		return
	}
	u.of[user] = n
}

// checkFiles says whether a user's next task may have files of that size.
func (u *usage) checkFiles(l Limits, user int32, files int64) error {
	u.mu.Lock()
	n := u.of[user]
	u.mu.Unlock()
	if l.Contexts > 0 && n.contexts+files > l.Contexts {
		return status.New(status.ResourceExhausted,
			"the files of your tasks that have not ended take %d bytes and these %d more, above the limit security.limits.context_bytes_per_user of %d; "+
				"wait for some to end, or leave out what the task does not need with a .detignore file", n.contexts, files, l.Contexts)
	}
	return nil
}

// accountEntry is what an allocation has of the cluster; false when it never had a place.
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

// putAccount writes down what an allocation had, if it has just ended.
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

// Placed lists what the allocations that have a place have of the cluster.
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
