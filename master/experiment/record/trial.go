package record

import (
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Trial is what is kept of a trial.
type Trial struct {
	ID         int32 `json:"id"`
	Experiment int32 `json:"experiment"`
	// Number counts the trials of the search from 1; 0 is a trial that the search does not know.
	Number    int    `json:"number,omitempty"`
	RequestID string `json:"request_id"`
	// Tasks are its tasks, the present one last: each continuation has one.
	Tasks []string `json:"tasks"`
	// Life decides what becomes of it.
	Life lifecycle.Trial `json:"life"`
	Seed uint32          `json:"seed"`
	// Hparams are those of a trial that an earlier version created. Others have them apart; see ReadHparams.
	Hparams map[string]any `json:"hparams,omitempty"`
	Created time.Time      `json:"created"`
	Ended   time.Time      `json:"ended,omitzero"`
	// Reason is why it ended or what became of its latest run.
	Reason string `json:"reason,omitempty"`
	// LastEnd is what was decided upon the latest run that ended.
	LastEnd *EndedRun `json:"last_end,omitempty"`
	// Allocation is the one that the present run has its machines in, or the one of the latest run. It is
	// empty for a run that still waits.
	Allocation string `json:"allocation,omitempty"`
	// RunBegan is when the present run began, Trained how long earlier ones took.
	RunBegan time.Time     `json:"run_began,omitzero"`
	Trained  time.Duration `json:"trained_ns,omitempty"`

	// Stopped says that the search stopped it, Told that the search knows of its end.
	Stopped bool `json:"stopped,omitempty"`
	Told    bool `json:"told,omitempty"`
	// Progress is what its program says, from 0 to 1.
	Progress    float64   `json:"progress,omitempty"`
	RunnerState string    `json:"runner_state,omitempty"`
	Heard       time.Time `json:"heard,omitzero"`
	// Steps is how far it is, in batches.
	Steps int32 `json:"steps"`
	// LatestSteps is how far Life.Latest is, Base how far the checkpoint was that the present run
	// started from.
	LatestSteps int32 `json:"latest_steps,omitempty"`
	Base        int32 `json:"base,omitempty"`
	// Latest and Best are validations by the searcher's metric.
	Latest *Best `json:"latest,omitempty"`
	Best   *Best `json:"best,omitempty"`
	// Matched is the log policy that matched last.
	Matched *Match `json:"matched,omitempty"`
	LogDays *int   `json:"log_days,omitempty"`
	// ExternalID is what an unmanaged trial is called elsewhere. Silent says that it ended because its program was
	// not heard of, Floating that the first report of the present run decides about Base.
	ExternalID string `json:"external_id,omitempty"`
	Silent     bool   `json:"silent,omitempty"`
	Floating   bool   `json:"floating,omitempty"`
	// Uses are checkpoints that it says it works with.
	Uses []Use `json:"uses,omitempty"`
}

// Task is the trial's present task.
func (t Trial) Task() string {
	if len(t.Tasks) == 0 {
		return ""
	}
	return t.Tasks[len(t.Tasks)-1]
}

// MayReport says that what comes with the token of an allocation is not of an earlier run than the present one.
// An empty allocation is a user. Of runs that began with an earlier version it is not known where they are.
func (t Trial) MayReport(allocation string) bool {
	unknown := t.Allocation == "" && !t.RunBegan.IsZero()
	return allocation == "" || unknown || t.Allocation == allocation
}

// Use is what a trial does with a checkpoint.
type Use struct {
	Checkpoint string `json:"checkpoint"`
	// How is one of the names of apiv1.TrialSourceInfoType.
	How string `json:"how"`
	// Model and Version are those of the registry that the checkpoint was taken from, 0 for none.
	Model   int32 `json:"model,omitempty"`
	Version int32 `json:"version,omitempty"`
}

// Match is a line that a log policy matched.
type Match struct {
	Policy string `json:"policy"`
	Run    int    `json:"run"`
	// NoRetry forbids another run after a failure of this one; Excluded is the machines that the trial
	// does not run on any more: a run of several may lose more than one.
	NoRetry  bool     `json:"no_retry,omitempty"`
	Excluded []string `json:"excluded_nodes,omitempty"`
}

// Join is a match with what an earlier one of the same run says.
func (m Match) Join(earlier Match) Match {
	m.NoRetry = m.NoRetry || earlier.NoRetry
	excluded := slices.Clone(earlier.Excluded)
	for _, node := range m.Excluded {
		if !slices.Contains(excluded, node) {
			excluded = append(excluded, node)
		}
	}
	m.Excluded = excluded
	return m
}

// Equal says that a match adds nothing to another.
func (m Match) Equal(other Match) bool {
	return m.Policy == other.Policy && m.Run == other.Run && m.NoRetry == other.NoRetry && slices.Equal(m.Excluded, other.Excluded)
}

// EndedRun is what was decided upon the end of a run, so that the same is answered when it is asked
// again.
type EndedRun struct {
	Run  int               `json:"run"`
	Next lifecycle.Verdict `json:"next"`
}

// Metric is the searcher's metric of the trial's best validation; false for none.
func (t Trial) Metric() (search.Number, bool) {
	if t.Best == nil {
		return 0, false
	}
	return t.Best.Metric, true
}
