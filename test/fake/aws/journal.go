package awstest

import (
	"slices"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Journal is every attempt that reached the world, in order. A gate's refusals
// do not.
func (w *World) Journal() []faults.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.schedule.Journal)
}

// Calls is how many calls were made, retries not counted.
func (w *World) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.schedule.Calls
}

// Changes is how many of them were to change something.
func (w *World) Changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.schedule.Changes
}
