package checkpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
)

// Referrer is what needs a checkpoint to stay, beside trials, whose own documents say what they
// start from. It needs one at a time.
type Referrer struct {
	// ID is its own: no two referrers share one.
	ID string `json:"id"`
	// Why is a sentence for people: "it is version 3 of model mnist".
	Why string `json:"why"`
}

// SourceOf is an experiment that is open, whose trials start from it.
func SourceOf(experiment int32) Referrer {
	return Referrer{fmt.Sprintf("experiment/%d/source", experiment), fmt.Sprintf("trials of experiment %d start from it", experiment)}
}

// VersionOf is a version of a model of the registry.
func VersionOf(model int32, name string, version int32) Referrer {
	return Referrer{fmt.Sprintf("model/%d/version/%d", model, version), fmt.Sprintf("it is version %d of model %s", version, name)}
}

// references are documents found by who refers; their parent is the checkpoint.
func references() store.Collection[Referrer] {
	return store.Collection[Referrer]{Kind: "checkpoint_reference"}
}

// Refer makes a checkpoint stay until Release, or until who refers to another one. It
// refuses a checkpoint that cannot be used, see CheckSource. Call it in the
// transaction that stores the need.
func Refer(ctx context.Context, tx *store.Tx, who Referrer, uuid string) (Record, error) {
	rec, err := CheckSource(ctx, tx, uuid)
	if err != nil {
		return Record{}, err
	}
	return rec, references().Put(tx, who.ID, uuid, time.Time{}, who)
}

// Release ends what Refer began. Without a reference it does nothing.
func Release(tx *store.Tx, who Referrer) error { return references().Delete(tx, who.ID) }

// ReferredTo is the checkpoint that a referrer needs.
func ReferredTo(ctx context.Context, r store.Reader, who Referrer) (uuid string, found bool, err error) {
	d, found, err := references().Get(ctx, r, who.ID)
	return d.Parent, found, err
}
