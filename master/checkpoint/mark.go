package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Deletion is the work of one task: files to delete, in checkpoints of one experiment in one
// storage. It is stored until it is complete.
type Deletion struct {
	ID         string `json:"id"`
	Experiment int32  `json:"experiment"`
	Storage    int32  `json:"storage,omitempty"`
	// UUIDs are the checkpoints. The task receives no others.
	UUIDs []string `json:"uuids"`
	// Globs select the files of each checkpoint. Without globs, the task only lists the existing
	// files.
	Globs []string `json:"globs,omitempty"`
	// TensorBoards also deletes the experiment's TensorBoard files.
	TensorBoards bool `json:"tensorboards,omitempty"`
	// UserID is the user who requested the deletion, 0 for the experiment's policy.
	UserID int32     `json:"user_id,omitempty"`
	Asked  time.Time `json:"asked"`
	// Tries is the number of failed attempts, Failure the reason of the latest failure, and Due the
	// time of the next attempt.
	Tries   int       `json:"tries,omitempty"`
	Failure string    `json:"failure,omitempty"`
	Due     time.Time `json:"due"`
	// GivenUp is the number of attempts after which the deletion of the experiment was reported as
	// failed.
	GivenUp int `json:"given_up,omitempty"`
}

// Show returns the deletion as an API message.
func (d Deletion) Show() *apiv1.CheckpointDeletion {
	return &apiv1.CheckpointDeletion{
		TaskId: d.ID, AskedTime: timestamppb.New(d.Asked), Globs: d.Globs, Tries: int32(d.Tries), Failure: d.Failure, DueTime: timestamppb.New(d.Due),
	}
}

// AllFiles returns globs that match every file.
func AllFiles() []string { return []string{"**/*"} }

func deletions() store.Collection[Deletion] {
	return store.Collection[Deletion]{Kind: "checkpoint_deletion"}
}

func putDeletion(tx *store.Tx, d Deletion) error {
	return deletions().Put(tx, d.ID, record.Key(d.Experiment), d.Due, d)
}

// MarkForDeletion marks checkpoints DELETING, unless d has no globs, and stores a deletion like d
// for each experiment and storage. ID, Experiment, Storage and UUIDs of d are ignored. It marks none
// of them and returns an error if one does not exist or is in use; see Needs. Checkpoints that are
// being deleted or were deleted are skipped.
func MarkForDeletion(ctx context.Context, tx *store.Tx, uses Uses, d Deletion, uuids []string) error {
	var all []Record
	for _, uuid := range uuids {
		rec, found, err := Get(ctx, tx, uuid)
		if err != nil {
			return err
		}
		if !found {
			return NotFound(uuid)
		}
		if rec.State.Deletable() {
			all = append(all, rec)
		}
	}
	if len(d.Globs) > 0 {
		if err := refuseNeeded(ctx, tx, uses, all); err != nil {
			return err
		}
	}
	return markAll(tx, d, all)
}

// refuseNeeded returns FailedPrecondition with the checkpoints that are in use and the reasons.
func refuseNeeded(ctx context.Context, r store.Reader, uses Uses, all []Record) error {
	needs, err := Needs(ctx, r, uses, all)
	maps.DeleteFunc(needs, func(id string, _ []string) bool {
		return !slices.ContainsFunc(all, func(rec Record) bool { return rec.UUID == id })
	})
	if err != nil || len(needs) == 0 {
		return err
	}
	const named = 5
	var words []string
	for _, id := range slices.Sorted(maps.Keys(needs)) {
		if len(words) == named {
			words = append(words, fmt.Sprintf("and %d more", len(needs)-named))
			break
		}
		words = append(words, fmt.Sprintf("checkpoint %s: %s", id, strings.Join(needs[id], ", and ")))
	}
	return status.New(status.FailedPrecondition, "no checkpoint was deleted, because some are in use: %s", strings.Join(words, "; "))
}

// markAll marks records and stores one deletion for each experiment and storage.
func markAll(tx *store.Tx, d Deletion, all []Record) error {
	type place struct{ experiment, storage int32 }
	by := map[place][]Record{}
	for _, rec := range all {
		at := place{rec.Experiment, rec.Storage}
		by[at] = append(by[at], rec)
	}
	places := slices.SortedFunc(maps.Keys(by), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.experiment, b.experiment), cmp.Compare(a.storage, b.storage))
	})
	for _, at := range places {
		d.ID, d.Experiment, d.Storage, d.UUIDs = uuid.NewString(), at.experiment, at.storage, nil
		for _, rec := range by[at] {
			rec.Deletion = d.ID
			if len(d.Globs) > 0 {
				rec.Before, rec.State = rec.State, Deleting
			}
			d.UUIDs = append(d.UUIDs, rec.UUID)
			if err := putRecord(tx, rec); err != nil {
				return err
			}
		}
		if err := putDeletion(tx, d); err != nil {
			return err
		}
	}
	return nil
}

// Deletions returns the pending deletions ordered by due time.
func Deletions(ctx context.Context, r store.Reader) ([]Deletion, error) {
	docs, err := deletions().All(ctx, r)
	all := make([]Deletion, 0, len(docs))
	for _, d := range docs {
		all = append(all, d.Value)
	}
	return all, err
}

// DeletionsOf returns the pending deletions of an experiment.
func DeletionsOf(ctx context.Context, r store.Reader, experiment int32) ([]Deletion, error) {
	docs, err := deletions().ByParent(ctx, r, record.Key(experiment))
	all := make([]Deletion, 0, len(docs))
	for _, d := range docs {
		all = append(all, d.Value)
	}
	return all, err
}

// DeletionOf returns a pending deletion, and false if it does not exist.
func DeletionOf(ctx context.Context, r store.Reader, id string) (Deletion, bool, error) {
	d, found, err := deletions().Get(ctx, r, id)
	return d.Value, found, err
}
