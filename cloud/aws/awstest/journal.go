package awstest

import "slices"

// Entry is one attempt of a call.
type Entry struct {
	Op      string
	Changes bool
	// Code is what it was refused with, "" when it was not.
	Code string
}

// Journal is every attempt that reached the world, in order. A gate's refusals
// do not.
func (w *World) Journal() []Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.journal)
}

// Calls is how many calls were made, retries not counted.
func (w *World) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults.calls
}

// Changes is how many of them were to change something.
func (w *World) Changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults.changes
}
