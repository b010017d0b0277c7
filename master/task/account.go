package task

import (
	"github.com/det-deploy/det-deploy/master/accounting"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

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
