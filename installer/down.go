package installer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// rounds limits how often Down plans again, to delete objects that the cluster launched during the
// removal.
const rounds = 3

// PlanDown returns the plan of Down. It includes objects that lists do not show yet: it looks up
// known names, and waits up to a limit for recent creations to appear.
func (in *Installer) PlanDown(ctx context.Context, deleteData bool) (plan.Plan, error) {
	return in.planDown(ctx, deleteData, nil)
}

// planDown does not wait for nonces in seen, whose objects may have been deleted.
func (in *Installer) planDown(ctx context.Context, deleteData bool, seen map[string]bool) (plan.Plan, error) {
	if err := in.awaitIntents(ctx, seen); err != nil {
		return plan.Plan{}, err
	}
	wanted, err := in.Deployment.Wanted()
	if err != nil {
		return plan.Plan{}, err
	}
	return plan.Compute(ctx, plan.Request{
		Cluster: in.Cluster, Wanted: wanted, Target: in.Deployment, Down: true, DeleteData: deleteData,
	})
}

// Down executes the confirmed plan, takes a second inventory, and returns the outcome of every
// object. It returns an error if objects remain. The record is deleted last, and only if nothing
// remains; its settings are kept with the data, where the store can outlive the cluster.
func (in *Installer) Down(ctx context.Context, agreed plan.Plan, deleteData bool) (Receipt, error) {
	s := &session{Installer: in, action: "down"}
	look := func(ctx context.Context) (plan.Plan, error) { return in.PlanDown(ctx, deleteData) }
	var fresh plan.Plan
	var receipt Receipt
	settled := time.Now().Add(in.settleLimit())
	err := runPhases(
		ctx, in.Emit,
		phase{Name: "lock the cluster", Do: s.takeLease, Undo: s.releaseLease},
		phase{Name: "compare with the confirmed plan", Do: func(ctx context.Context) (err error) {
			fresh, err = s.comparePlans(ctx, agreed, look)
			return err
		}},
		phase{Name: "apply the plan", Do: func(ctx context.Context) error {
			s.book.Note(noteListed(noncesIn(fresh)))
			return s.applyPlan(ctx, fresh)
		}},
		phase{Name: "list the remaining objects", Do: func(ctx context.Context) (err error) {
			if in.LateLists { // an interrupted `up` may have created something just before
				if err := wait.For(ctx, time.Until(settled)); err != nil {
					return err
				}
			}
			seen := noncesIn(fresh)
			receipt, err = s.makeReceipt(ctx, fresh, func(ctx context.Context) (plan.Plan, error) { return in.planDown(ctx, deleteData, seen) })
			return err
		}},
		phase{Name: "remove the record", Do: func(ctx context.Context) error {
			kept, err := s.deleteRecord(ctx, deleteData)
			if kept {
				receipt.Kept = append(receipt.Kept, KeptSettings(in.Cluster))
			}
			return err
		}},
	)
	return receipt, err
}

// makeReceipt takes the second inventory. It also deletes objects created since the first, because
// a cluster may still launch machines while it is being removed.
func (s *session) makeReceipt(ctx context.Context, done plan.Plan, look func(context.Context) (plan.Plan, error)) (Receipt, error) {
	r := newReceipt(s.Cluster, done)
	for range rounds {
		now, err := s.awaitGone(ctx, r, look)
		if err != nil {
			return r, err
		}
		r.Left = toDelete(now)
		if len(r.Left) == 0 {
			return r, nil
		}
		if err := s.applyPlan(ctx, now); err != nil {
			return r, errors.Join(r.Err(), err)
		}
		r.addDeleted(now)
	}
	return r, r.Err()
}

// awaitGone waits, up to a limit, until lists no longer show the deleted objects.
func (s *session) awaitGone(ctx context.Context, r Receipt, look func(context.Context) (plan.Plan, error)) (plan.Plan, error) {
	var now plan.Plan
	err := pollUntil(ctx, s.settleLimit(), func() (bool, error) {
		var err error
		now, err = look(ctx)
		return !r.countsAny(toDelete(now)), err
	})
	return now, err
}

// deleteRecord deletes the record. Unless all is to be deleted, it keeps the settings if the store can;
// kept reports whether it did.
func (s *session) deleteRecord(ctx context.Context, all bool) (kept bool, err error) {
	s.shut()
	if err := s.lease.Check(ctx); err != nil {
		return false, err
	}
	s.lease.Stop()
	if keeper, ok := s.Store.(record.Keeper); ok && !all {
		kept, err = record.Retain(ctx, keeper)
	} else {
		err = s.Store.Destroy(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("remove the record of cluster %s: %w", s.Cluster, err)
	}
	return kept, nil
}

// noncesIn returns the nonces of the objects in a plan.
func noncesIn(p plan.Plan) map[string]bool {
	out := make(map[string]bool)
	for _, s := range p.Steps {
		if s.Found.Nonce != "" {
			out[s.Found.Nonce] = true
		}
	}
	return out
}

// noteListed returns an edit that marks the intents of objects that a list shows. If the removal is
// interrupted, the next one does not wait for those that it has removed.
func noteListed(nonces map[string]bool) func(*record.Record) {
	return func(r *record.Record) {
		for id, in := range r.Intents {
			if nonces[in.Nonce] {
				in.Made, in.Listed = true, true
				r.Intents[id] = in
			}
		}
	}
}

// awaitIntents waits, up to a limit, until the inventory shows everything that was created under a
// nonce, except the nonces in seen and those that were listed before.
func (in *Installer) awaitIntents(ctx context.Context, seen map[string]bool) error {
	r, _, found, err := record.Read(ctx, in.Store)
	if err != nil || !found {
		return err
	}
	maps.DeleteFunc(r.Intents, func(_ string, i record.Intent) bool { return i.Listed || seen[i.Nonce] })
	if len(r.Intents) == 0 {
		return nil
	}
	return pollUntil(ctx, in.settleLimit(), func() (bool, error) {
		fs, err := in.Deployment.Inventory(ctx, in.Cluster)
		return err == nil && showsAll(fs, r.Intents), err
	})
}

func showsAll(fs []resource.Found, intents map[string]record.Intent) bool {
	seen := make(map[string]bool, len(fs))
	for _, f := range fs {
		seen[f.Nonce] = true
	}
	for _, in := range intents {
		if !seen[in.Nonce] {
			return false
		}
	}
	return true
}

// pollUntil calls ask until it returns true or an error, or limit has passed. It returns nil after
// limit.
func pollUntil(ctx context.Context, limit time.Duration, ask func() (bool, error)) error {
	deadline := time.Now().Add(limit)
	for {
		yes, err := ask()
		if yes || err != nil || time.Now().After(deadline) {
			return err
		}
		if err := wait.For(ctx, time.Second); err != nil {
			return err
		}
	}
}
