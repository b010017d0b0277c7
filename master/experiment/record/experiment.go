package record

import (
	"encoding/json"
	"time"

	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Experiment is the stored record of an experiment without its configuration.
type Experiment struct {
	ID          int32           `json:"id"`
	State       lifecycle.State `json:"state"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Labels      []string        `json:"labels,omitempty"`
	Notes       string          `json:"notes,omitempty"`
	UserID      int32           `json:"user_id"`
	Username    string          `json:"username"`
	// Unix is the account that trials run as.
	Unix      security.AgentUser `json:"unix"`
	JobID     string             `json:"job_id"`
	ProjectID int32              `json:"project_id"`
	Archived  bool               `json:"archived,omitempty"`
	Started   time.Time          `json:"started"`
	Ended     time.Time          `json:"ended,omitzero"`
	// Progress is between 0 and 1.
	Progress float64 `json:"progress"`
	// ForkedFrom is the ID of the experiment whose files this one uses, 0 if it has its own.
	ForkedFrom int32 `json:"forked_from,omitempty"`
	// Unmanaged experiments run outside the cluster; ExternalID is their ID there.
	Unmanaged  bool   `json:"unmanaged,omitempty"`
	ExternalID string `json:"external_id,omitempty"`

	Queue    Queue    `json:"queue"`
	Searcher Searcher `json:"searcher"`
	// Trials is the number of trials, Open the number of those that have not ended.
	Trials int `json:"trials"`
	Open   int `json:"open"`
	// Values is the number of hyperparameter values of all trials. It is counted only for unmanaged
	// experiments.
	Values int `json:"values,omitempty"`
	// Best is the best validation by the searcher's metric, nil before the first validation.
	Best *Best `json:"best,omitempty"`
	// Events is the number of the latest event.
	Events int `json:"events"`
	// Failure is the reason for the state ERROR or DELETE_FAILED.
	Failure string `json:"failure,omitempty"`
	// EndedBy is the user who canceled or killed it, and EndReason why it ended before its search did.
	EndedBy   string `json:"ended_by,omitempty"`
	EndReason string `json:"end_reason,omitempty"`
	// KeepFiles reports that the deletion leaves the files in the storage.
	KeepFiles bool `json:"keep_files,omitempty"`
	// ModelBytes is the packed size of the model definition.
	ModelBytes int64 `json:"model_bytes,omitempty"`
	// Context is the ID of the context with the model definition, if it was sent before.
	Context  string   `json:"context,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Exceeds reports that a trial needs more slots than the resource pool has.
	Exceeds bool `json:"exceeds,omitempty"`
	// LogDays is the retention of trial logs in days: -1 keeps them forever, nil uses the cluster's
	// default.
	LogDays *int `json:"log_days,omitempty"`
	// TrialLogDays reports that some trials have a retention of their own, LogsDropped that all logs
	// were deleted.
	TrialLogDays bool `json:"trial_log_days,omitempty"`
	LogsDropped  bool `json:"logs_dropped,omitempty"`
}

// Queue holds the settings that the scheduler uses.
type Queue struct {
	Pool string `json:"pool"`
	// Slots is the number of slots of one trial. MaxSlots limits the slots of all trials, nil for no
	// limit.
	Slots    int  `json:"slots_per_trial"`
	MaxSlots *int `json:"max_slots,omitempty"`
	// Priority is 0 if the pool's default applies.
	Priority int     `json:"priority,omitempty"`
	Weight   float64 `json:"weight"`
}

// Searcher holds the search settings that lists show.
type Searcher struct {
	Name            string `json:"name"`
	Metric          string `json:"metric"`
	SmallerIsBetter bool   `json:"smaller_is_better"`
	// SourceTrial and SourceCheckpoint identify the checkpoint that trials start from. They are 0
	// and empty if trials start without a checkpoint.
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
	// Original is the submitted text.
	Original string `json:"original"`
	// Complete is the result of config.Experiment.Store and contains secrets.
	Complete []byte `json:"complete"`
	// Shown is config.Experiment.Show as JSON, without secrets, for lists of experiments. It is
	// empty in records that earlier versions stored.
	Shown json.RawMessage `json:"shown,omitempty"`
}

// ShownConfig decodes only the part of a Config that lists need.
type ShownConfig struct {
	Shown map[string]any `json:"shown"`
}
