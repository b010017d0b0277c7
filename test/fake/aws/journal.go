package awstest

import (
	"slices"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Journal returns all attempts that reached the world, in order. Calls rejected by a gate are not
// included.
func (w *World) Journal() []faults.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.schedule.Journal)
}

// Calls returns the number of calls, not counting retries.
func (w *World) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.schedule.Calls
}

// Changes returns the number of modifying calls.
func (w *World) Changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.schedule.Changes
}
