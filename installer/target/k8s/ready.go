package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/installer"
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
