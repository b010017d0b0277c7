package k8s

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/k8s/explain"
)

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
