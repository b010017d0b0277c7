// Package accounting keeps which slots every allocation had, and for how long: what a
// cluster was used for, by whom, and what it is billed by. It outlives tasks and
// experiments, which may be forgotten.
package accounting

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// Entry is what one allocation had.
type Entry struct {
	Allocation rm.AllocationID `json:"allocation"`
	Task       rm.TaskID       `json:"task"`
	// Job is the experiment's for a trial, and the task itself for a command.
	Job  rm.JobID `json:"job"`
	Kind string   `json:"kind"`
	// UserID and Username are the owner's when it ended.
	UserID    int32  `json:"user_id"`
	Username  string `json:"username"`
	Workspace int32  `json:"workspace"`
	Pool      string `json:"pool"`
	Slots     int    `json:"slots"`
	// Price is what a slot cost when it was placed; nil is not known.
	Price *rm.Price `json:"price,omitempty"`
	// Start is when it got its slots, Ran when its programs began, zero for never, and End
	// when it gave them back, zero while it has them.
	Start time.Time `json:"start"`
	Ran   time.Time `json:"ran,omitzero"`
	End   time.Time `json:"end,omitzero"`
}

// entries are found by allocation; their parent is the job, their time the end.
var entries = store.Collection[Entry]{Kind: "allocation_use"}

// Put writes down an allocation that has ended.
func Put(tx *store.Tx, e Entry) error {
	return entries.Put(tx, string(e.Allocation), string(e.Job), e.End, e)
}

// Ended lists what ended after from and began before until, by its start.
func Ended(ctx context.Context, r store.Reader, from, until time.Time) ([]Entry, error) {
	docs, err := entries.After(ctx, r, from)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, d := range docs {
		if d.Value.Start.Before(until) {
			out = append(out, d.Value)
		}
	}
	Sort(out)
	return out, nil
}

// OfJob lists what a job has had and given back, by its start.
func OfJob(ctx context.Context, r store.Reader, job rm.JobID) ([]Entry, error) {
	docs, err := entries.ByParent(ctx, r, string(job))
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(docs))
	for _, d := range docs {
		out = append(out, d.Value)
	}
	Sort(out)
	return out, nil
}

// Sort orders entries by their start.
func Sort(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Allocation, b.Allocation))
	})
}

// within is the part of its time that is between from and until; what has not ended
// lasts until then.
func (e Entry) within(from, until time.Time) (start, end time.Time) {
	end = until
	if !e.End.IsZero() {
		end = earlier(e.End, until)
	}
	start = e.Start
	if start.Before(from) {
		start = from
	}
	return start, end
}

// SlotTime is the time of its slots together between from and until; what has not ended
// counts as far as until.
func (e Entry) SlotTime(from, until time.Time) time.Duration {
	start, end := e.within(from, until)
	return max(0, end.Sub(start)) * time.Duration(e.Slots)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
