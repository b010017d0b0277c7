package record

import (
	"encoding/json"
	"time"

	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Experiment is what is kept of an experiment beside its configuration.
type Experiment struct {
	ID          int32           `json:"id"`
	State       lifecycle.State `json:"state"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Labels      []string        `json:"labels,omitempty"`
	Notes       string          `json:"notes,omitempty"`
	UserID      int32           `json:"user_id"`
	Username    string          `json:"username"`
	// Unix is the account that its trials run as.
	Unix      security.AgentUser `json:"unix"`
	JobID     string             `json:"job_id"`
	ProjectID int32              `json:"project_id"`
	Archived  bool               `json:"archived,omitempty"`
	Started   time.Time          `json:"started"`
	Ended     time.Time          `json:"ended,omitzero"`
	// Progress is from 0 to 1.
	Progress float64 `json:"progress"`
	// ForkedFrom is the experiment whose files it has, 0 for none.
	ForkedFrom int32 `json:"forked_from,omitempty"`
	// Unmanaged experiments run elsewhere; ExternalID is what they are called there.
	Unmanaged  bool   `json:"unmanaged,omitempty"`
	ExternalID string `json:"external_id,omitempty"`

	Queue    Queue    `json:"queue"`
	Searcher Searcher `json:"searcher"`
	// Trials is how many it has, Open how many of them have not ended.
	Trials int `json:"trials"`
	Open   int `json:"open"`
	// Values is how many hyperparameters its trials have together; it is counted for experiments that run elsewhere.
	Values int `json:"values,omitempty"`
	// Best is the best validation by the searcher's metric, nil for none.
	Best *Best `json:"best,omitempty"`
	// Events is the number of its latest event.
	Events int `json:"events"`
	// Failure is why it is ERROR or DELETE_FAILED.
	Failure string `json:"failure,omitempty"`
	// ModelBytes is the size of its model definition, packed.
	ModelBytes int64    `json:"model_bytes,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
	// Exceeds says that its trials need more slots than its pool has.
	Exceeds bool `json:"exceeds,omitempty"`
	// LogDays is how long the logs of its trials are kept, -1 for ever, nil as the cluster says.
	LogDays *int `json:"log_days,omitempty"`
	// TrialLogDays says that trials have numbers of days of their own, LogsDropped that no log is left.
	TrialLogDays bool `json:"trial_log_days,omitempty"`
	LogsDropped  bool `json:"logs_dropped,omitempty"`
}

// Queue is what decides when its trials are served.
type Queue struct {
	Pool string `json:"pool"`
	// Slots is what one trial takes, MaxSlots what all of them may, nil for no limit.
	Slots    int  `json:"slots_per_trial"`
	MaxSlots *int `json:"max_slots,omitempty"`
	// Priority is 0 where the pool's is meant.
	Priority int     `json:"priority,omitempty"`
	Weight   float64 `json:"weight"`
}

// Searcher is what lists show of a search.
type Searcher struct {
	Name            string `json:"name"`
	Metric          string `json:"metric"`
	SmallerIsBetter bool   `json:"smaller_is_better"`
	// SourceTrial and SourceCheckpoint are what its trials start from, 0 and empty for nothing.
	SourceTrial      int32  `json:"source_trial,omitempty"`
	SourceCheckpoint string `json:"source_checkpoint,omitempty"`
}

// Best is the best validation of an experiment or a trial.
type Best struct {
	Trial  int32         `json:"trial"`
	Steps  int32         `json:"steps"`
	Metric search.Number `json:"metric"`
}

// Config is an experiment's configuration.
type Config struct {
	// Original is what was submitted.
	Original string `json:"original"`
	// Complete is written by config.Experiment.Store and has secrets.
	Complete []byte `json:"complete"`
	// Shown is config.Experiment.Show in JSON, without secrets: lists are made of it. It is empty in what was
	// stored before there was one.
	Shown json.RawMessage `json:"shown,omitempty"`
}

// ShownConfig is what lists read of a Config.
type ShownConfig struct {
	Shown map[string]any `json:"shown"`
}
