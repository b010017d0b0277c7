// Package accounting records which slots every allocation had, and for how long, as the basis of
// usage reports and billing. The records outlive tasks and experiments, which may be deleted.
package accounting

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
)

// Entry is the usage of one allocation.
type Entry struct {
	Allocation rm.AllocationID `json:"allocation"`
	Task       rm.TaskID       `json:"task"`
	// Job is that of the experiment for a trial, and the task itself for a command.
	Job  rm.JobID `json:"job"`
	Kind string   `json:"kind"`
	// UserID and Username are those of the owner at the end.
	UserID    int32  `json:"user_id"`
	Username  string `json:"username"`
	Workspace int32  `json:"workspace"`
	Pool      string `json:"pool"`
	Slots     int    `json:"slots"`
	// Price is the price per slot at placement; nil means unknown.
	Price *rm.Price `json:"price,omitempty"`
	// Start is the time of placement, Ran the start of the programs, zero if they never started,
	// and End the release of the slots, zero while the allocation has them.
	Start time.Time `json:"start"`
	Ran   time.Time `json:"ran,omitzero"`
	End   time.Time `json:"end,omitzero"`
}

// entries are keyed by allocation; their parent is the job, and their time the end.
var entries = store.Collection[Entry]{Kind: "allocation_use"}

// Put stores the entry of an allocation that has ended.
func Put(tx *store.Tx, e Entry) error {
	return entries.Put(tx, string(e.Allocation), string(e.Job), e.End, e)
}

// Ended returns the entries that ended after from and started before until, by start time.
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

// OfJob returns the ended entries of a job, by start time.
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

// Sort sorts entries by start time.
func Sort(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Allocation, b.Allocation))
	})
}

// within returns the part of the entry's time between from and until. An entry that has not ended
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

// SlotTime returns the sum of its slot times between from and until. An entry that has not ended
// counts up to until.
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
