package k8s

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/k8s/explain"
)

const (
	// DefaultLimit is how long a cluster may take to come up: nodes that are added
	// for it, images of a hundred megabytes, a disk.
	DefaultLimit = 10 * time.Minute
	// patience is how long what does not pass by itself is waited for all the same:
	// somebody may be mending it, or a registry have a bad moment.
	patience = time.Minute
	// answerLimit is how long a master whose pod is ready may take to answer by its
	// Service.
	answerLimit = time.Minute
	// askLimit bounds one question to it.
	askLimit = 10 * time.Second
)

// Ready waits until the master's pod is, telling what stands in its way, and then
// until the master answers and is this cluster's.
func (t *Target) Ready(ctx context.Context, tell func(string)) error {
	if t.NoWait {
		return installer.ErrNotAwaited
	}
	if err := t.stands(ctx, tell); err != nil {
		return err
	}
	return t.answers(ctx, tell)
}

// stands waits until the master's Deployment is available.
func (t *Target) stands(ctx context.Context, tell func(string)) error {
	limit := t.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	w := t.wait(limit, tell)
	for {
		d, err := t.deployment(ctx)
		if err != nil {
			return err
		}
		if d == nil {
			return &installer.AbsentError{Cluster: t.Cluster}
		}
		if available(d) {
			return nil
		}
		v := t.verdict(ctx, t.standing())
		if w.over(v, time.Now()) {
			return &notReadyError{t.Cluster, t.Namespace, v, time.Since(w.begun)}
		}
		if err := t.pause(ctx); err != nil {
			return err
		}
	}
}

// waiting is how long something is already waited for.
type waiting struct {
	begun           time.Time
	limit, patience time.Duration
	tell            func(string)
	said            string
	// grave is since when there has been something that does not pass by itself.
	grave time.Time
}

func (t *Target) wait(limit time.Duration, tell func(string)) waiting {
	return waiting{begun: time.Now(), limit: limit, patience: cmp.Or(t.Patience, patience), tell: tell}
}

// over tells what is new and reports whether waiting longer is of no use.
func (w *waiting) over(v explain.Verdict, now time.Time) bool {
	if what := told(v); what != w.said && what != "" {
		w.said = what
		w.tell(what)
	}
	switch {
	case !lasting(v):
		w.grave = time.Time{}
	case w.grave.IsZero():
		w.grave = now
	}
	return now.Sub(w.begun) > w.limit || !w.grave.IsZero() && now.Sub(w.grave) > w.patience
}

// available reports whether the master that is wanted now is there.
func available(d *appsv1.Deployment) bool {
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == wanted && s.Replicas == wanted && s.AvailableReplicas == wanted
}

// notReadyError is a master that does not come up, with what stands in its way.
type notReadyError struct {
	cluster, namespace string
	verdict            explain.Verdict
	waited             time.Duration
}

func (e *notReadyError) Error() string {
	s := fmt.Sprintf("the master of cluster %s is not ready after %s", e.cluster, e.waited.Round(time.Second))
	if len(e.verdict.Troubles) == 0 {
		return s + ": " + cmp.Or(told(e.verdict), "nothing says why")
	}
	for _, t := range e.verdict.Troubles {
		s += "\n" + t.String()
	}
	return s
}

// Hint is how to mend the gravest trouble, and how to see more.
func (e *notReadyError) Hint() string {
	if len(e.verdict.Troubles) > 0 && e.verdict.Troubles[0].Fix != "" {
		return e.verdict.Troubles[0].Fix + "; then run the same command again"
	}
	return fmt.Sprintf("run the same command again to wait on; `det-deploy k8s logs --cluster-id %s --namespace %s` shows what the master says", e.cluster, e.namespace)
}

func isNotReady(err error) bool {
	_, ok := errors.AsType[*notReadyError](err)
	return ok
}

// About is what a master says of itself.
type About struct {
	ClusterID   string `json:"cluster_id"`
	ClusterName string `json:"cluster_name"`
	Version     string `json:"det_deploy_version"`
	OnHold      bool   `json:"on_hold"`
}

// Ask asks the master who it is, through the API server: its own address may not be
// reachable from here, or not be there yet.
func (t *Target) Ask(ctx context.Context) (About, error) {
	e, err := t.Endpoint(ctx)
	if err != nil {
		return About{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	raw, err := t.API.CoreV1().Services(t.Namespace).ProxyGet(e.scheme(), e.Service, strconv.Itoa(int(e.Port)), "info", nil).DoRaw(ctx)
	if err != nil {
		return About{}, t.refuse("get", "services/proxy", e.Service, err)
	}
	var a About
	if err := json.Unmarshal(raw, &a); err != nil {
		return About{}, fmt.Errorf("ask the master who it is: %w", err)
	}
	return a, nil
}

// answers waits until the master answers. Where nobody may ask through the API
// server, or its network lets nobody by, the pod's own probes have to do: they asked
// the same.
func (t *Target) answers(ctx context.Context, tell func(string)) error {
	tell("the master's pod is ready; asking the master who it is")
	deadline := time.Now().Add(answerLimit)
	for {
		a, err := t.Ask(ctx)
		switch {
		case err == nil && a.OnHold:
			return errors.New("ask the master: it is on hold and serves no client")
		case err == nil:
			return t.ours(a)
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline) || t.closed(err):
			tell("its probes say that it answers; through the API server it cannot be asked: " + firstLine(err.Error()))
			return nil
		}
		if err := t.pause(ctx); err != nil {
			return err
		}
	}
}

// ours refuses the master of another cluster, as far as names tell.
func (t *Target) ours(a About) error {
	want := t.Values.Text("clusterName")
	if want == "" || a.ClusterName == want {
		return nil
	}
	return fmt.Errorf("ask the master: it is the master of cluster %q and not of %q", a.ClusterName, want)
}

// closed reports a refusal that waiting does not change.
func (t *Target) closed(err error) bool {
	var status interface{ Status() int }
	return isDenied(err) || errors.As(err, &status) && status.Status() == http.StatusMethodNotAllowed
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
