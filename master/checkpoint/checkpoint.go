// Package checkpoint keeps the records of checkpoints, and deletes their files without
// ever deleting one that is referred to.
//
// A record is a document whose parent is its trial. Whatever needs a checkpoint to stay
// says so with Refer, in the transaction that stores the need; whatever deletes one marks it
// in a transaction that looks at those references. The store has one writer, so that
// the two cannot cross: a checkpoint is referred to, or it is DELETING, and never both.
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

// Record is what is known of a checkpoint.
type Record struct {
	UUID       string    `json:"uuid"`
	Experiment int32     `json:"experiment"`
	Trial      int32     `json:"trial"`
	Task       string    `json:"task,omitempty"`
	Allocation string    `json:"allocation,omitempty"`
	Reported   time.Time `json:"reported"`
	State      State     `json:"state"`
	// Steps is how many steps of training it holds: steps_completed of Metadata.
	Steps int32 `json:"steps"`
	// Metadata is what the program and users say of it.
	Metadata map[string]any `json:"metadata,omitempty"`
	// Resources is its files by path, with their bytes. A path that ends in "/" is a directory.
	Resources map[string]int64 `json:"resources,omitempty"`
	// Storage is where the files are, as Storages numbers it; 0 is what its experiment's
	// configuration says.
	Storage int32 `json:"storage,omitempty"`
	// Deletion is its latest deletion, which it waits for while it is DELETING, and Before its
	// state when that was asked for.
	Deletion string `json:"deletion,omitempty"`
	Before   State  `json:"before,omitempty"`
}

// Bytes is the size of all files.
func (r Record) Bytes() (n int64) {
	for _, size := range r.Resources {
		n += size
	}
	return n
}

// records are the documents: found by UUID, their parent is the trial, their time when
// they were reported.
func records() store.Collection[Record] { return store.Collection[Record]{Kind: "checkpoint"} }

func putRecord(tx *store.Tx, r Record) error {
	return records().Put(tx, r.UUID, trialKey(r.Trial), r.Reported, r)
}

func trialKey(trial int32) string { return record.Key(trial) }

// Get reads one checkpoint.
func Get(ctx context.Context, r store.Reader, uuid string) (rec Record, found bool, err error) {
	d, found, err := records().Get(ctx, r, uuid)
	return d.Value, found, err
}

// OfTrials reads the checkpoints of trials, a trial's in the order of its reports.
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

// SetMetadata stores a checkpoint of which only the metadata was changed.
func SetMetadata(tx *store.Tx, r Record) error {
	if err := checkMetadata(r.UUID, r.Metadata); err != nil {
		return err
	}
	return putRecord(tx, r)
}

// Latest is the checkpoint of a trial with the most steps that can be trained on from.
func Latest(ctx context.Context, r store.Reader, trial int32) (rec Record, found bool, err error) {
	all, err := OfTrials(ctx, r, trial)
	for _, one := range all {
		if one.State.Usable() && (!found || one.Steps >= rec.Steps) {
			rec, found = one, true
		}
	}
	return rec, found, err
}

// CheckSource refuses a checkpoint that training cannot start from: one that does not
// exist, is being deleted, or has been. In a transaction that stores who needs it, the
// answer holds; see Refer.
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

// NotFound is the refusal of a checkpoint that is unknown.
func NotFound(uuid string) error {
	return status.New(status.NotFound, "checkpoint '%s' not found", uuid)
}

// State is where a checkpoint stands.
//
//	ACTIVE ──▶ COMPLETED ──▶ DELETING ──▶ DELETED
//	               ▲  ▲         │
//	               │  └─────────┤ no file was removed
//	               │            ▼
//	           (usable) PARTIALLY_DELETED ──▶ DELETING
//
// ERROR is reported of an upload that failed. Such a checkpoint, and one that stays ACTIVE,
// may be deleted and not be used.
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

// States is every state.
func States() []State {
	return []State{Active, Completed, Error, Deleting, Deleted, PartiallyDeleted}
}

// Usable says that training may start from it, and a model version may be it.
func (s State) Usable() bool { return s == Completed || s == PartiallyDeleted }

// Deletable says that there are files that may be deleted.
func (s State) Deletable() bool { return s != Deleting && s != Deleted }

// CheckReader refuses a user who may not read a checkpoint, and so may neither start from it nor register it.
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
