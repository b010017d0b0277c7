package checkpoint

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Uses provides uses of checkpoints that are not stored, such as running downloads.
type Uses interface {
	// UsedBy returns descriptions of the current uses of a checkpoint. It is called inside
	// transactions and must not block.
	UsedBy(uuid string) []string
}

// Needs returns the reasons why checkpoints must not be deleted, by UUID; uses may be nil. Inside a
// transaction the result is valid until the transaction ends.
func Needs(ctx context.Context, r store.Reader, uses Uses, all []Record) (map[string][]string, error) {
	needs := map[string][]string{}
	for _, add := range []func(context.Context, store.Reader, []Record, map[string][]string) error{
		addReferences, addOpenTrials, addStarted,
	} {
		if err := add(ctx, r, all, needs); err != nil {
			return nil, err
		}
	}
	for _, rec := range all {
		if uses == nil {
			break
		}
		if used := uses.UsedBy(rec.UUID); len(used) > 0 {
			needs[rec.UUID] = append(needs[rec.UUID], used...)
		}
	}
	return needs, nil
}

func uuidsOf(all []Record) []string {
	uuids := make([]string, 0, len(all))
	for _, rec := range all {
		uuids = append(uuids, rec.UUID)
	}
	return uuids
}

// addReferences adds the references that Refer stored.
func addReferences(ctx context.Context, r store.Reader, all []Record, needs map[string][]string) error {
	docs, err := references().ByParents(ctx, r, uuidsOf(all))
	for _, d := range docs {
		needs[d.Parent] = append(needs[d.Parent], d.Value.Why)
	}
	return err
}

// addOpenTrials adds the latest checkpoints of trials that have not ended.
func addOpenTrials(ctx context.Context, r store.Reader, all []Record, needs map[string][]string) error {
	var ids []string
	asked := map[int32]bool{}
	for _, rec := range all {
		if !asked[rec.Trial] {
			asked[rec.Trial] = true
			ids = append(ids, record.Key(rec.Trial))
		}
	}
	docs, err := record.Docs().Trials.ByIDs(ctx, r, ids)
	for _, d := range docs {
		if t := d.Value; !t.Life.State.Over() && t.Life.Latest != "" {
			needs[t.Life.Latest] = append(needs[t.Life.Latest], fmt.Sprintf("trial %d continues from it", t.ID))
		}
	}
	return err
}

// addStarted adds the checkpoints from which existing trials started.
func addStarted(ctx context.Context, r store.Reader, all []Record, needs map[string][]string) error {
	docs, err := record.Docs().Sources.ByParents(ctx, r, uuidsOf(all))
	for _, d := range docs {
		needs[d.Parent] = append(needs[d.Parent], fmt.Sprintf("trial %s started from it", strings.TrimLeft(d.ID, "0")))
	}
	return err
}

// Referrer is a user of a checkpoint other than a trial, whose document contains its checkpoints. It
// refers to one checkpoint at a time.
type Referrer struct {
	// ID identifies the referrer.
	ID string `json:"id"`
	// Why is a sentence for users, such as "it is version 3 of model mnist".
	Why string `json:"why"`
}

// SourceOf returns the referrer for the source checkpoint of an open experiment.
func SourceOf(experiment int32) Referrer {
	return Referrer{fmt.Sprintf("experiment/%d/source", experiment), fmt.Sprintf("trials of experiment %d start from it", experiment)}
}

// VersionOf returns the referrer for a model version in the registry.
func VersionOf(model int32, name string, version int32) Referrer {
	return Referrer{fmt.Sprintf("model/%d/version/%d", model, version), fmt.Sprintf("it is version %d of model %s", version, name)}
}

// references are documents by referrer; their parent is the checkpoint.
func references() store.Collection[Referrer] {
	return store.Collection[Referrer]{Kind: "checkpoint_reference"}
}

// Refer protects a checkpoint until Release or until the referrer refers to another checkpoint. It
// returns the errors of CheckSource. Call it in the transaction that stores the use.
func Refer(ctx context.Context, tx *store.Tx, who Referrer, uuid string) (Record, error) {
	rec, err := CheckSource(ctx, tx, uuid)
	if err != nil {
		return Record{}, err
	}
	return rec, references().Put(tx, who.ID, uuid, time.Time{}, who)
}

// Release deletes the reference of a referrer. It does nothing without a reference.
func Release(tx *store.Tx, who Referrer) error { return references().Delete(tx, who.ID) }

// ReferredTo returns the checkpoint of a referrer, and false if it has no reference.
func ReferredTo(ctx context.Context, r store.Reader, who Referrer) (uuid string, found bool, err error) {
	d, found, err := references().Get(ctx, r, who.ID)
	return d.Parent, found, err
}

// uses counts the current readers of checkpoints. The counts are not stored, because readers end
// with the process.
type uses struct {
	mu    sync.Mutex
	count map[string]int
}

func newUses() *uses { return &uses{count: map[string]int{}} }

// UsedBy implements Uses.
func (u *uses) UsedBy(uuid string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch n := u.count[uuid]; n {
	case 0:
		return nil
	case 1:
		return []string{"it is being downloaded"}
	default:
		return []string{fmt.Sprintf("it is being downloaded %d times", n)}
	}
}

func (u *uses) add(uuid string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count[uuid] += n; u.count[uuid] == 0 {
		delete(u.count, uuid)
	}
}

// Hold protects a checkpoint until release is called. It returns the errors of CheckSource. It runs
// in a transaction, so that the checkpoint cannot be marked for deletion between the check and the
// hold.
func (c *Checkpoints) Hold(ctx context.Context, uuid string) (rec Record, release func(), err error) {
	held := false
	err = c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if rec, err = CheckSource(ctx, tx, uuid); err != nil {
			return err
		}
		c.uses.add(uuid, 1)
		held = true
		return nil
	})
	if err != nil {
		if held {
			c.uses.add(uuid, -1)
		}
		return Record{}, nil, err
	}
	return rec, sync.OnceFunc(func() { c.uses.add(uuid, -1) }), nil
}
