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

// Uses is needs that no document tells, such as a download that runs.
type Uses interface {
	// UsedBy lists what uses a checkpoint now, in words. It is asked inside transactions
	// and must not wait.
	UsedBy(uuid string) []string
}

// Needs lists why which checkpoints must stay, in words; uses may be nil. Inside a
// transaction the answer holds until its end.
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

// addReferences adds what Refer stored.
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

// addStarted adds what trials started from, for as long as they exist.
func addStarted(ctx context.Context, r store.Reader, all []Record, needs map[string][]string) error {
	docs, err := record.Docs().Sources.ByParents(ctx, r, uuidsOf(all))
	for _, d := range docs {
		needs[d.Parent] = append(needs[d.Parent], fmt.Sprintf("trial %s started from it", strings.TrimLeft(d.ID, "0")))
	}
	return err
}

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

// uses is what is being read now. It is lost with the process, as the readers are.
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

// Hold makes a checkpoint stay until release is called, which must be. It refuses what
// CheckSource refuses. It looks inside a transaction, so that no deletion is marked between the look
// and the hold.
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
