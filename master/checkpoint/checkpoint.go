// Package checkpoint stores the records of checkpoints and deletes their files. It never deletes a
// checkpoint that is in use.
//
// A record is a document whose parent is its trial. A user of a checkpoint calls Refer in the
// transaction that stores the use; a deletion marks the checkpoint in a transaction that checks the
// references. The store runs one write transaction at a time, so that a checkpoint is never both
// referenced and DELETING.
//
//	report ──▶ Put ──▶ COMPLETED ──▶ MarkForDeletion ──▶ DELETING ──▶ task deletes files ──▶ DELETED
//	                      ▲  Refer ✓                        Refer ✗
package checkpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Record is the stored record of a checkpoint.
type Record struct {
	UUID       string    `json:"uuid"`
	Experiment int32     `json:"experiment"`
	Trial      int32     `json:"trial"`
	Task       string    `json:"task,omitempty"`
	Allocation string    `json:"allocation,omitempty"`
	Reported   time.Time `json:"reported"`
	State      State     `json:"state"`
	// Steps is the number of completed training steps: steps_completed of Metadata.
	Steps int32 `json:"steps"`
	// Metadata is set by the program and by users.
	Metadata map[string]any `json:"metadata,omitempty"`
	// Resources maps the paths of the files to their sizes in bytes. A path that ends in "/" is a
	// directory.
	Resources map[string]int64 `json:"resources,omitempty"`
	// Storage is the storage of the files as numbered by StorageID; 0 is the storage of the
	// experiment's configuration.
	Storage int32 `json:"storage,omitempty"`
	// Deletion is the ID of the latest deletion, which is pending while the state is DELETING.
	// Before is the state from before that deletion.
	Deletion string `json:"deletion,omitempty"`
	Before   State  `json:"before,omitempty"`
}

// Bytes returns the total size of the files.
func (r Record) Bytes() (n int64) {
	for _, size := range r.Resources {
		n += size
	}
	return n
}

// records are the documents: the ID is the UUID, the parent the trial, the time that of the report.
func records() store.Collection[Record] { return store.Collection[Record]{Kind: "checkpoint"} }

// IDsBeginning returns at most limit UUIDs of checkpoints that begin with prefix, in order.
func IDsBeginning(ctx context.Context, r store.Reader, prefix string, limit int) ([]string, error) {
	return records().IDsBeginning(ctx, r, prefix, limit)
}

func putRecord(tx *store.Tx, r Record) error {
	return records().Put(tx, r.UUID, trialKey(r.Trial), r.Reported, r)
}

func trialKey(trial int32) string { return record.Key(trial) }

// Get returns a checkpoint, and false if it does not exist.
func Get(ctx context.Context, r store.Reader, uuid string) (rec Record, found bool, err error) {
	d, found, err := records().Get(ctx, r, uuid)
	return d.Value, found, err
}

// OfTrials returns the checkpoints of trials, ordered by the time of their reports within each
// trial.
func OfTrials(ctx context.Context, r store.Reader, trials ...int32) ([]Record, error) {
	keys := make([]string, 0, len(trials))
	for _, trial := range trials {
		keys = append(keys, trialKey(trial))
	}
	return ofParents(ctx, r, keys)
}

func ofParents(ctx context.Context, r store.Reader, trials []string) ([]Record, error) {
	docs, err := records().ByParents(ctx, r, trials)
	if err != nil {
		return nil, err
	}
	all := make([]Record, 0, len(docs))
	for _, d := range docs {
		all = append(all, d.Value)
	}
	return all, nil
}

// SetMetadata stores a checkpoint whose metadata was changed. It returns InvalidArgument if the
// metadata is invalid.
func SetMetadata(tx *store.Tx, r Record) error {
	if err := checkMetadata(r.UUID, r.Metadata); err != nil {
		return err
	}
	return putRecord(tx, r)
}

// Latest returns the usable checkpoint of a trial with the most steps, and false if the trial has no
// usable checkpoint.
func Latest(ctx context.Context, r store.Reader, trial int32) (rec Record, found bool, err error) {
	all, err := OfTrials(ctx, r, trial)
	for _, one := range all {
		if one.State.Usable() && (!found || one.Steps >= rec.Steps) {
			rec, found = one, true
		}
	}
	return rec, found, err
}

// CheckSource returns an error if training cannot start from a checkpoint, because it does not
// exist, is being deleted or was deleted. In the transaction that stores a reference the result
// stays valid; see Refer.
func CheckSource(ctx context.Context, r store.Reader, uuid string) (Record, error) {
	rec, found, err := Get(ctx, r, uuid)
	switch {
	case err != nil:
		return Record{}, err
	case !found:
		return Record{}, NotFound(uuid)
	case !rec.State.Usable():
		return Record{}, status.New(status.FailedPrecondition, "checkpoint %s cannot be used: it is %s; choose one that is COMPLETED", uuid, rec.State)
	}
	x, _, err := record.Docs().Experiments.Get(ctx, r, record.Key(rec.Experiment))
	if err == nil && x.Value.State == lifecycle.Deleting {
		err = status.New(status.FailedPrecondition, "checkpoint %s cannot be used: its experiment %d is being deleted", uuid, rec.Experiment)
	}
	return rec, err
}

// NotFound returns the error for an unknown checkpoint.
func NotFound(uuid string) error {
	return status.New(status.NotFound, "checkpoint '%s' not found", uuid)
}

// State is the state of a checkpoint.
//
//	ACTIVE ──▶ COMPLETED ──▶ DELETING ──▶ DELETED
//	               ▲  ▲         │
//	               │  └─────────┤ no file was removed
//	               │            ▼
//	           (usable) PARTIALLY_DELETED ──▶ DELETING
//
// ERROR is reported for a failed upload. Such a checkpoint, or one that stays ACTIVE, may be deleted
// but not used.
type State string

// The states. All but Deleting are states of Determined 0.38.1.
const (
	Active           State = "ACTIVE"
	Completed        State = "COMPLETED"
	Error            State = "ERROR"
	Deleting         State = "DELETING"
	Deleted          State = "DELETED"
	PartiallyDeleted State = "PARTIALLY_DELETED"
)

// States returns all states.
func States() []State {
	return []State{Active, Completed, Error, Deleting, Deleted, PartiallyDeleted}
}

// Usable reports whether training may start from the checkpoint and a model version may refer to it.
func (s State) Usable() bool { return s == Completed || s == PartiallyDeleted }

// Deletable reports whether the checkpoint has files that may be deleted.
func (s State) Deletable() bool { return s != Deleting && s != Deleted }

// CheckReader returns PermissionDenied if the user may not read a checkpoint, which includes
// starting from it and registering it.
func CheckReader(ctx context.Context, r store.Reader, by *apiv1.User, rec Record) error {
	x, found, err := record.Docs().Experiments.Get(ctx, r, record.Key(rec.Experiment))
	switch {
	case err != nil:
		return err
	case !found:
		return status.Missing("experiment", fmt.Sprint(rec.Experiment))
	}
	return x.Value.CheckReader(by, "the checkpoints")
}
