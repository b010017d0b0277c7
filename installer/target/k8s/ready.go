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
	// DefaultLimit is the default time for a cluster to become ready: nodes may have to be added,
	// images of a hundred megabytes pulled, and a disk provisioned.
	DefaultLimit = 10 * time.Minute
	// patience is how long to wait in spite of a lasting problem, because an operator may be
	// repairing it or a registry may be briefly unavailable.
	patience = time.Minute
	// answerLimit is how long a master with a ready pod may take to answer through its Service.
	answerLimit = time.Minute
	// askLimit is the timeout of one such request.
	askLimit = 10 * time.Second
)

// Ready waits until the master's pod is ready and reports what prevents it. Then it waits until the
// master answers, and verifies that it is this cluster's.
func (t *Target) Ready(ctx context.Context, tell func(string)) error {
	if t.NoWait {
		return installer.ErrNotAwaited
	}
	if err := t.awaitMaster(ctx, tell); err != nil {
		return err
	}
	return t.newAccess().awaitAnswer(ctx, tell)
}

// notReadyError reports that the master does not become ready, with the reasons.
type notReadyError struct {
	cluster, namespace string
	verdict            explain.Verdict
	waited             time.Duration
}

func (e *notReadyError) Error() string {
	s := fmt.Sprintf("the master of cluster %s is not ready after %s", e.cluster, e.waited.Round(time.Second))
	if len(e.verdict.Troubles) == 0 {
		return s + ": " + cmp.Or(progressLine(e.verdict), "the reason is unknown")
	}
	for _, t := range e.verdict.Troubles {
		s += "\n" + t.String()
	}
	return s
}

// Hint returns the remedy for the most serious problem, and the command that shows more.
func (e *notReadyError) Hint() string {
	if len(e.verdict.Troubles) > 0 && e.verdict.Troubles[0].Fix != "" {
		return e.verdict.Troubles[0].Fix + "; then run the same command again" + keptValues
	}
	return fmt.Sprintf("run the same command again to keep waiting; `det-deploy k8s logs --cluster-id %s --namespace %s` shows the master's log", e.cluster, e.namespace) + keptValues
}

// keptValues is a note for users who correct values.
const keptValues = "; omitted values are kept, --reset-values resets them"

func isNotReady(err error) bool {
	_, ok := errors.AsType[*notReadyError](err)
	return ok
}

// awaitMaster waits until the master is available, and records its version on its data claims.
func (t *Target) awaitMaster(ctx context.Context, tell func(string)) error {
	d, err := t.newWaiter().awaitAvailable(ctx, tell)
	if err != nil {
		return err
	}
	version := versionOfImage(masterIn(&d.Spec.Template.Spec).Image)
	names, err := t.newPlace().usedClaims(ctx, d)
	if err != nil {
		tellUnrecorded(tell, version, err)
		return nil // the master is available
	}
	t.newClaims().recordVersion(ctx, names, version, tell)
	return nil
}

// waiter polls objects that are about to change.
type waiter struct {
	place
	// glance is the polling interval, patience the time to wait in spite of a lasting problem, and
	// limit the time for a master to become ready.
	glance, patience, limit time.Duration
}

// awaitGone calls ask periodically until it reports that nothing is left. It returns a leftError
// after limit.
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

// pauseBriefly waits for the polling interval.
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

// progress tracks the duration of a wait.
type progress struct {
	begun           time.Time
	limit, patience time.Duration
	tell            func(string)
	said            string
	// grave is the time since which there is a lasting problem.
	grave time.Time
}

func (t waiter) startWaiting(limit time.Duration, tell func(string)) progress {
	return progress{begun: time.Now(), limit: limit, patience: t.patience, tell: tell}
}

// isOver reports news to the user, and returns true if further waiting is pointless.
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

// isAvailable reports whether the current version of the master is available.
func isAvailable(d *appsv1.Deployment) bool {
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == wanted && s.Replicas == wanted && s.AvailableReplicas == wanted
}
