package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/k8s/explain"
)

const (
	// DefaultLimit is how long a cluster may take to come up: nodes that are added
	// for it, images of a hundred megabytes, a disk.
	DefaultLimit = 10 * time.Minute
	// patience is how long what does not pass by itself is waited for all the same:
	// an operator may be repairing it, or a registry be briefly unavailable.
	patience = time.Minute
	// answerLimit is how long a master whose pod is ready may take to answer by its
	// Service.
	answerLimit = time.Minute
	// askLimit bounds one question to it.
	askLimit = 10 * time.Second
)

// Ready waits until the master's pod is, reporting what prevents it, and then
// until the master answers and is this cluster's.
func (t *Target) Ready(ctx context.Context, tell func(string)) error {
	if t.NoWait {
		return installer.ErrNotAwaited
	}
	if err := t.awaitMaster(ctx, tell); err != nil {
		return err
	}
	return t.newAccess().awaitAnswer(ctx, tell)
}

// notReadyError is a master that does not come up, with the reasons.
type notReadyError struct {
	cluster, namespace string
	verdict            explain.Verdict
	waited             time.Duration
}

func (e *notReadyError) Error() string {
	s := fmt.Sprintf("the master of cluster %s is not ready after %s", e.cluster, e.waited.Round(time.Second))
	if len(e.verdict.Troubles) == 0 {
		return s + ": " + cmp.Or(progressLine(e.verdict), "nothing says why")
	}
	for _, t := range e.verdict.Troubles {
		s += "\n" + t.String()
	}
	return s
}

// Hint is how to fix the gravest problem, and how to see more.
func (e *notReadyError) Hint() string {
	if len(e.verdict.Troubles) > 0 && e.verdict.Troubles[0].Fix != "" {
		return e.verdict.Troubles[0].Fix + "; then run the same command again" + keptValues
	}
	return fmt.Sprintf("run the same command again to wait on; `det-deploy k8s logs --cluster-id %s --namespace %s` shows what the master says", e.cluster, e.namespace) + keptValues
}

// keptValues is what to know before values are corrected.
const keptValues = "; values that you leave out are kept, and reset with --reset-values"

func isNotReady(err error) bool {
	_, ok := errors.AsType[*notReadyError](err)
	return ok
}

// awaitMaster waits until the master is up, and records its version on the claims that it
// uses.
func (t *Target) awaitMaster(ctx context.Context, tell func(string)) error {
	d, err := t.newWaiter().awaitAvailable(ctx, tell)
	if err != nil {
		return err
	}
	version := versionOfImage(masterIn(&d.Spec.Template.Spec).Image)
	names, err := t.newPlace().usedClaims(ctx, d)
	if err != nil {
		tellUnrecorded(tell, version, err)
		return nil // the master is up
	}
	t.newClaims().recordVersion(ctx, names, version, tell)
	return nil
}

// waiter looks again and again at what is to change.
type waiter struct {
	place
	// glance is the pause between two looks, patience how long what does not pass by
	// itself is waited for all the same, and limit how long a master may take to come up.
	glance, patience, limit time.Duration
}

// awaitGone asks regularly what is left of something, until nothing is, with a limit.
func (t waiter) awaitGone(ctx context.Context, limit time.Duration, what string, ask func(context.Context) (left string, err error)) error {
	deadline := time.Now().Add(limit)
	for {
		left, err := ask(ctx)
		switch {
		case err != nil:
			return err
		case left == "":
			return nil
		case time.Now().After(deadline):
			return &leftError{what, limit, left}
		}
		if err := t.pauseBriefly(ctx); err != nil {
			return err
		}
	}
}

// pauseBriefly is the pause between two looks.
func (t waiter) pauseBriefly(ctx context.Context) error {
	return wait.ForWanted(ctx, t.glance)
}

// awaitAvailable waits until the master's Deployment is available.
func (t waiter) awaitAvailable(ctx context.Context, tell func(string)) (*appsv1.Deployment, error) {
	w := t.startWaiting(t.limit, tell)
	for {
		d, err := t.readDeployment(ctx)
		if err != nil {
			return nil, err
		}
		if d == nil {
			return nil, &installer.AbsentError{Cluster: t.Cluster}
		}
		if isAvailable(d) {
			return d, nil
		}
		v := t.diagnosePod(ctx, t.standingSelector())
		if w.isOver(v, time.Now()) {
			return nil, &notReadyError{t.Cluster, t.Namespace, v, time.Since(w.begun)}
		}
		if err := t.pauseBriefly(ctx); err != nil {
			return nil, err
		}
	}
}

// progress is how long something is already waited for.
type progress struct {
	begun           time.Time
	limit, patience time.Duration
	tell            func(string)
	said            string
	// grave is since when there has been a problem that does not pass by itself.
	grave time.Time
}

func (t waiter) startWaiting(limit time.Duration, tell func(string)) progress {
	return progress{begun: time.Now(), limit: limit, patience: t.patience, tell: tell}
}

// isOver reports what is new, and whether waiting longer is of no use.
func (w *progress) isOver(v explain.Verdict, now time.Time) bool {
	if what := progressLine(v); what != w.said && what != "" {
		w.said = what
		w.tell(what)
	}
	switch {
	case !isLasting(v):
		w.grave = time.Time{}
	case w.grave.IsZero():
		w.grave = now
	}
	return now.Sub(w.begun) > w.limit || !w.grave.IsZero() && now.Sub(w.grave) > w.patience
}

// isAvailable reports whether the master that is wanted now is there.
func isAvailable(d *appsv1.Deployment) bool {
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == wanted && s.Replicas == wanted && s.AvailableReplicas == wanted
}
