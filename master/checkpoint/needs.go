package checkpoint

import (
	"context"
	"fmt"
	"strings"

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
