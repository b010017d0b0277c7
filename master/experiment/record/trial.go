package record

import (
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Trial is the stored record of a trial.
type Trial struct {
	ID         int32 `json:"id"`
	Experiment int32 `json:"experiment"`
	// Number is the position of the trial in the search, from 1; 0 if the search did not create it.
	Number    int    `json:"number,omitempty"`
	RequestID string `json:"request_id"`
	// Tasks are the IDs of its tasks, the current one last. Each continuation adds one.
	Tasks []string `json:"tasks"`
	// Life is the trial's state machine.
	Life lifecycle.Trial `json:"life"`
	Seed uint32          `json:"seed"`
	// Hparams holds the hyperparameters of trials that earlier versions created. Later ones are
	// stored separately; see ReadHparams.
	Hparams map[string]any `json:"hparams,omitempty"`
	Created time.Time      `json:"created"`
	Ended   time.Time      `json:"ended,omitzero"`
	// Reason describes the end of the trial or of its latest run.
	Reason string `json:"reason,omitempty"`
	// LastEnd is the decision about the latest run that ended.
	LastEnd *EndedRun `json:"last_end,omitempty"`
	// Allocation is the allocation of the current run, or of the latest one. It is empty while a run
	// is queued.
	Allocation string `json:"allocation,omitempty"`
	// RunBegan is the start of the current run, Trained the total duration of earlier runs.
	RunBegan time.Time     `json:"run_began,omitzero"`
	Trained  time.Duration `json:"trained_ns,omitempty"`

	// Stopped reports that the search stopped the trial, Full that this was at its full length, and Told
	// that the search has processed its end.
	Stopped bool `json:"stopped,omitempty"`
	Full    bool `json:"full,omitempty"`
	Told    bool `json:"told,omitempty"`
	// Progress is reported by the program, between 0 and 1.
	Progress    float64   `json:"progress,omitempty"`
	RunnerState string    `json:"runner_state,omitempty"`
	Heard       time.Time `json:"heard,omitzero"`
	// Steps is the number of completed batches.
	Steps int32 `json:"steps"`
	// LatestSteps is the number of batches at Life.Latest, Base that at the checkpoint from which
	// the current run started.
	LatestSteps int32 `json:"latest_steps,omitempty"`
	Base        int32 `json:"base,omitempty"`
	// Latest and Best are validations by the searcher's metric.
	Latest *Best `json:"latest,omitempty"`
	Best   *Best `json:"best,omitempty"`
	// Matched is the latest match of a log policy.
	Matched *Match `json:"matched,omitempty"`
	LogDays *int   `json:"log_days,omitempty"`
	// ExternalID is the ID of an unmanaged trial outside the cluster. Silent reports that it ended
	// because its program sent no heartbeat, Floating that the first report of the current run
	// determines Base.
	ExternalID string `json:"external_id,omitempty"`
	Silent     bool   `json:"silent,omitempty"`
	Floating   bool   `json:"floating,omitempty"`
	// Uses lists the checkpoints that the trial reported to use.
	Uses []Use `json:"uses,omitempty"`
}

// Task returns the ID of the current task, or "" if the trial never ran.
func (t Trial) Task() string {
	if len(t.Tasks) == 0 {
		return ""
	}
	return t.Tasks[len(t.Tasks)-1]
}

// MayReport reports whether the allocation belongs to the current run and not to an earlier one.
// Reports of users have no allocation and are accepted, as are those for runs that an earlier
// version started, whose allocation was not recorded.
func (t Trial) MayReport(allocation string) bool {
	unknown := t.Allocation == "" && !t.RunBegan.IsZero()
	return allocation == "" || unknown || t.Allocation == allocation
}

// Use is the use of a checkpoint by a trial.
type Use struct {
	Checkpoint string `json:"checkpoint"`
	// How is a name of apiv1.TrialSourceInfoType.
	How string `json:"how"`
	// Model and Version are those of the model registry from which the checkpoint was taken, 0 if
	// none.
	Model   int32 `json:"model,omitempty"`
	Version int32 `json:"version,omitempty"`
}

// Match is a log line that a log policy matched.
type Match struct {
	Policy string `json:"policy"`
	Run    int    `json:"run"`
	// NoRetry forbids another run after a failure of this one. Excluded lists the nodes on which the
	// trial must not run; a run on several nodes may exclude more than one.
	NoRetry  bool     `json:"no_retry,omitempty"`
	Excluded []string `json:"excluded_nodes,omitempty"`
	// Causes are the lines that forbid another run.
	Causes []MatchedLine `json:"causes,omitempty"`
}

// MatchedLine is an excerpt of a log line, and the pattern that it matches.
type MatchedLine struct {
	Pattern string `json:"pattern"`
	Line    string `json:"line"`
}

// Join returns m combined with an earlier match of the same run.
func (m Match) Join(earlier Match) Match {
	m.NoRetry = m.NoRetry || earlier.NoRetry
	m.Excluded = union(earlier.Excluded, m.Excluded, func(node string) string { return node })
	m.Causes = union(earlier.Causes, m.Causes, func(l MatchedLine) string { return l.Pattern })
	return m
}

// union returns the elements of a, and those of b whose keys a does not have.
func union[E any](a, b []E, key func(E) string) []E {
	out := slices.Clone(a)
	for _, e := range b {
		if !slices.ContainsFunc(out, func(o E) bool { return key(o) == key(e) }) {
			out = append(out, e)
		}
	}
	return out
}

// Equal reports whether two matches are the same.
func (m Match) Equal(other Match) bool {
	return m.Policy == other.Policy && m.Run == other.Run && m.NoRetry == other.NoRetry &&
		slices.Equal(m.Excluded, other.Excluded) && slices.Equal(m.Causes, other.Causes)
}

// EndedRun is the decision about the end of a run. It is stored so that a repeated request gets the
// same answer.
type EndedRun struct {
	Run  int               `json:"run"`
	Next lifecycle.Verdict `json:"next"`
}

// Metric returns the searcher's metric of the best validation, and false before the first validation.
func (t Trial) Metric() (search.Number, bool) {
	if t.Best == nil {
		return 0, false
	}
	return t.Best.Metric, true
}
