package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// glance is the interval between two searches for an object that may have been created.
const glance = time.Second

// run is one execution of a plan.
type run struct {
	Config
	jobs []job
	// recorded is closed when the intents are stored or intendErr is set.
	recorded  chan struct{}
	intendErr error

	mu      sync.Mutex // guards the following fields
	intents map[string]resource.Intent
	outcome map[string]bool // by nonced ID: true if created, false if known to have had no effect
	done    int
}

func (r *run) countDone() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	return r.done
}

// recordIntents stores all creations that must happen exactly once, in one write, before the first
// of them. It also writes without any, to store other pending changes of the record.
func (r *run) recordIntents(ctx context.Context, p plan.Plan) error {
	var fresh, again []string
	for _, s := range p.Steps {
		if _, ok := s.Resource.(resource.Nonced); !ok {
			continue
		}
		switch s.Verb {
		case plan.Create:
			again = append(again, s.ID)
		case plan.Replace:
			fresh = append(fresh, s.ID)
		case plan.Update, plan.Keep, plan.Delete, plan.Refuse:
		}
	}
	renewed := map[string]resource.Intent{}
	var err error
	if len(fresh) > 0 {
		if renewed, err = r.Journal.Renew(ctx, fresh...); err != nil {
			return err
		}
	}
	if r.intents, err = r.Journal.Intend(ctx, again...); err != nil {
		return err
	}
	maps.Copy(r.intents, renewed)
	return nil
}

// closeIntents records the outcome of the intents. If a run dies before this, they stay open, and
// the next run searches for the objects before it creates them.
func (r *run) closeIntents(ctx context.Context, p plan.Plan) error {
	var made, void []string
	for _, s := range p.Steps {
		if _, ok := s.Resource.(resource.Nonced); ok && s.Verb == plan.Keep {
			made = append(made, s.ID)
		}
	}
	r.mu.Lock()
	for id, ok := range r.outcome {
		if ok {
			made = append(made, id)
		} else {
			void = append(void, id)
		}
	}
	r.mu.Unlock()
	slices.Sort(made)
	slices.Sort(void)
	if len(void) > 0 {
		if err := r.Journal.Forget(ctx, void...); err != nil {
			return err
		}
	}
	if len(made) > 0 {
		return r.Journal.Settle(ctx, made...)
	}
	return nil
}

func (r *run) createResource(ctx context.Context, j job) error {
	n, ok := j.step.Resource.(resource.Nonced)
	if !ok {
		return repeatDoubtful(func() error { return j.step.Resource.Create(ctx) })
	}
	err := r.createOnce(ctx, j.step.Resource, n)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, partial := errors.AsType[*resource.PartialError](err); partial || err == nil {
		r.outcome[j.step.ID] = true
	} else if hadNoEffect(err) {
		r.outcome[j.step.ID] = false
	}
	return err
}

// createOnce creates res under its nonce. If the nonce is new, it creates the object at
// once. If the nonce was used before, or after a lost reply, it first searches for the object
// for as long as lists may lag:
//
//	new ──▶ create ──lost reply──▶ look ──found──▶ done
//	                    ▲           │
//	tried before ───────┼──▶ look ──┘ (not found: create, once more)
func (r *run) createOnce(ctx context.Context, res resource.Resource, n resource.Nonced) error {
	r.mu.Lock()
	in := r.intents[res.ID()]
	r.mu.Unlock()
	if in.Tried {
		found, err := r.lookFor(ctx, res, n, in.Nonce)
		if found || err != nil {
			return err
		}
		if in.Made { // it was deleted since, and a deleted object's nonce is not reused
			fresh, err := r.Journal.Renew(ctx, res.ID())
			if err != nil {
				return err
			}
			in = fresh[res.ID()]
		}
	}
	err := n.CreateOnce(ctx, in.Nonce)
	if cloud.KindOf(err) != cloud.Ambiguous {
		return err
	}
	found, lookErr := r.lookFor(ctx, res, n, in.Nonce)
	if found || lookErr != nil {
		return lookErr
	}
	return n.CreateOnce(ctx, in.Nonce)
}

// lookFor searches, up to a limit, for an object created under nonce, and sets the identity of res
// from it. If there are two, it deletes the unused one.
func (r *run) lookFor(ctx context.Context, res resource.Resource, n resource.Nonced, nonce string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*r.Settle)
	defer cancel()
	deadline := time.Now().Add(r.Settle)
	for {
		made, err := n.Made(ctx, nonce)
		if err != nil {
			return false, fmt.Errorf("check whether %s was created: %w", res.ID(), err)
		}
		if len(made) > 0 {
			found, drift, err := res.Find(ctx)
			if err != nil {
				return false, fmt.Errorf("read %s: %w", res.ID(), err)
			}
			if found.Exists() {
				return true, errors.Join(r.deleteSpares(ctx, made, found), completeCreation(ctx, res, drift))
			}
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		if err := wait.ForWanted(ctx, glance); err != nil {
			return false, err
		}
	}
}

// completeCreation makes the remaining calls of a creation whose reply was lost, for objects that
// take several: a gateway is created and then attached.
func completeCreation(ctx context.Context, res resource.Resource, drift []resource.Drift) error {
	u, ok := res.(resource.Updater)
	if !ok || len(drift) == 0 || slices.ContainsFunc(drift, func(d resource.Drift) bool { return d.Replace }) {
		return nil
	}
	return repeatDoubtful(func() error { return u.Update(ctx, drift) })
}

func (r *run) deleteSpares(ctx context.Context, made []resource.Found, used resource.Found) error {
	for _, f := range made {
		if f.Key() == used.Key() {
			continue
		}
		if err := ignoreNotFound(r.Target.Remove(ctx, f)); err != nil {
			return fmt.Errorf("delete the duplicate %s: %w", f, err)
		}
	}
	return nil
}

// doubtful is the number of attempts of an idempotent step whose replies are lost.
const doubtful = 5

// repeatDoubtful repeats an idempotent call whose reply was lost.
func repeatDoubtful(call func() error) (err error) {
	for range doubtful {
		if err = call(); cloud.KindOf(err) != cloud.Ambiguous {
			return err
		}
	}
	return err
}

// ignoreNotFound returns nil for NotFound errors, because the object is deleted already.
func ignoreNotFound(err error) error {
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	return err
}

// hadNoEffect reports whether a failed call is known to have had no effect.
func hadNoEffect(err error) bool {
	switch cloud.KindOf(err) {
	case cloud.Denied, cloud.Quota, cloud.NoCapacity, cloud.Invalid:
		return true
	case cloud.Unknown, cloud.NotFound, cloud.RateLimited, cloud.Conflict, cloud.Ambiguous, cloud.Unavailable:
	}
	return false
}
