// Package metric keeps what the programs of trials report: one row a report, stored
// once however often it is sent, in whatever order reports and runs arrive.
//
//	trial, group, steps, run ──▶ one row; sent again it changes nothing, further
//	                             names are added, a different value is refused
//	run 2 continues from 100 ──▶ what run 1 reported beyond 100 is removed, and
//	                             refused if it arrives only now
package metric

import (
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/quota"
)

// The groups that have a meaning of their own. All other names are the program's.
const (
	Training   = "training"
	Validation = "validation"
)

// ProfilingGroups lists the groups of the harness's profiler. They have no steps: a
// report's steps are its time, in microseconds since 1970.
func ProfilingGroups() []string { return []string{"cpu", "disk", "gpu", "memory", "network"} }

// IsProfiling says whether a group is one of the profiler's.
func IsProfiling(group string) bool { return slices.Contains(ProfilingGroups(), group) }

// Report is what a run of a trial reports for one step of one group.
type Report struct {
	Trial int64
	// Run is the run's number, from 1.
	Run int64
	// Base is the step that the run continued from: its checkpoint's, 0 without one.
	// The first report of a run removes what earlier runs reported beyond it.
	Base  int64
	Group string
	// Steps is how many steps were completed; of a profiling group it is the time.
	Steps  int64
	At     time.Time
	Values Values
	// Owner is the user for whom the report is counted. It is not stored.
	Owner quota.User
}

// Values are the numbers and other things of one report, as JSON decodes them. What
// is not a finite number is one of the texts "NaN", "Infinity" and "-Infinity", as
// clients send and expect it.
type Values struct {
	// Averages is what most programs mean by metrics, by name.
	Averages map[string]any `json:"avg"`
	// Batches has the metrics of single batches; few programs report them.
	Batches []map[string]any `json:"batches,omitempty"`
}

// Stored is what became of a report.
type Stored struct {
	// Merged is all that is known of the step now, of this run and earlier ones.
	Merged Report
	// Added is what the report brought that was not stored yet.
	Added Values
	// Removed is how many rows of earlier runs the first report of this run replaced.
	Removed int64

	// shared says that several runs reported the step.
	shared bool
}

// News says whether the report changed anything.
func (s Stored) News() bool {
	return len(s.Added.Averages) > 0 || s.Added.Batches != nil
}
