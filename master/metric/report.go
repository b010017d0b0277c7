// Package metric stores the metrics that programs of trials report: one row for each report. Reports
// may be repeated and may arrive in any order.
//
//	trial, group, steps, run ──▶ one row; a repeated report changes nothing, new names
//	                             are added, a different value is an error
//	run 2 continues from 100 ──▶ reports of run 1 beyond 100 are deleted, and later ones
//	                             are rejected
package metric

import (
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/quota"
)

// The groups with a defined meaning. Programs may use any other name.
const (
	Training   = "training"
	Validation = "validation"
)

// ProfilingGroups returns the groups of the harness's profiler. The steps of their reports are
// times, in microseconds since 1970.
func ProfilingGroups() []string { return []string{"cpu", "disk", "gpu", "memory", "network"} }

// IsProfiling reports whether a group is one of ProfilingGroups.
func IsProfiling(group string) bool { return slices.Contains(ProfilingGroups(), group) }

// Report holds the metrics of one step of one group, reported by a run of a trial.
type Report struct {
	Trial int64
	// Run is the number of the run, from 1.
	Run int64
	// Base is the step of the checkpoint from which the run continued, or 0. The first report of a
	// run deletes the reports of earlier runs beyond it.
	Base  int64
	Group string
	// Steps is the number of completed steps, or the time in a profiling group.
	Steps  int64
	At     time.Time
	Values Values
	// Owner is the user whose quota includes the report. It is not stored.
	Owner quota.User
}

// Values are the values of one report as decoded from JSON. NaN and infinities are the strings
// "NaN", "Infinity" and "-Infinity", as clients send and expect them.
type Values struct {
	// Averages are the metrics by name.
	Averages map[string]any `json:"avg"`
	// Batches are the metrics of single batches, which few programs report.
	Batches []map[string]any `json:"batches,omitempty"`
}

// Stored is the result of storing a report.
type Stored struct {
	// Merged holds all known metrics of the step, of this run and of earlier ones.
	Merged Report
	// Added holds the values that were not stored before.
	Added Values
	// Removed is the number of rows of earlier runs that the first report of this run replaced.
	Removed int64

	// shared reports that several runs reported the step.
	shared bool
}

// News reports whether the report added values.
func (s Stored) News() bool {
	return len(s.Added.Averages) > 0 || s.Added.Batches != nil
}
