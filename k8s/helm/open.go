// Package helm installs, changes and removes the chart of a cluster as Helm does,
// so that `helm list`, `helm history` and `helm get` see what det-deploy did and
// the other way round. What Helm leaves to its user is done here: a release that
// a dead client left pending is taken up again, what an interrupted change made
// is not forgotten, and a refusal says what it was.
//
// It is the only package that knows Helm's SDK.
package helm

import (
	"context"
	"fmt"
	"log/slog"

	"helm.sh/helm/v3/pkg/action"
	helmkube "helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// Config says where releases are looked for and made.
type Config struct {
	Kube *kube.Client
	// Namespace is the releases'; empty means the client's.
	Namespace string
	// Origin is that of the releases which the client may change; nil is any.
	Origin *Origin
	// Log gets Helm's own words at debug level. Nil is silence.
	Log *slog.Logger
}

// Client works on the releases of one namespace.
type Client struct {
	kube   *kube.Client
	log    *slog.Logger
	origin *Origin
}

// Open makes no call.
func Open(c Config) *Client {
	out := &Client{kube: c.Kube, log: c.Log, origin: c.Origin}
	if c.Namespace != "" {
		out.kube = c.Kube.In(c.Namespace)
	}
	if out.log == nil {
		out.log = slog.New(slog.DiscardHandler)
	}
	return out
}

// run is one operation of Helm's. Everything it calls ends with its context.
type run struct {
	config *action.Configuration
	kube   *kube.Client
	worker *worker
	trail  *kube.Trail
	origin *Origin
}

// beginRun prepares an operation. Helm makes up contexts of its own, and continues in
// the background when it is told to stop; so its calls are tied to ctx below it,
// in the transport, and it is always waited for.
func (c *Client) beginRun(ctx context.Context) (*run, error) {
	bound, trail := c.kube.Within(ctx)
	getter, err := bound.Getter()
	if err != nil {
		return nil, err
	}
	set, err := bound.Clientset()
	if err != nil {
		return nil, err
	}
	log := func(format string, args ...any) {
		c.log.DebugContext(ctx, "helm", "text", fmt.Sprintf(format, args...))
	}
	client := helmkube.New(getter)
	client.Namespace, client.Log = bound.Namespace(), log
	secrets := driver.NewSecrets(set.CoreV1().Secrets(bound.Namespace()))
	secrets.Log = log
	releases := storage.Init(secrets)
	releases.MaxHistory, releases.Log = historyKept, log
	w := &worker{Client: client, ctx: ctx, set: set}
	return &run{
		config: &action.Configuration{
			RESTClientGetter: getter,
			Releases:         releases,
			KubeClient:       w,
			Log:              log,
		},
		kube: bound, worker: w, trail: trail, origin: c.origin,
	}, nil
}

// historyKept is how many revisions of a release are remembered, as with
// Helm's own command.
const historyKept = 10

// explainError finds the error behind that of Helm, which turns some into text and drops
// others: a wait of the worker's, or a refusal, which went by the transport.
func (r *run) explainError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if err = r.trail.Last(err); r.worker.waited != nil {
		err = r.worker.waited
	}
	if _, found := asRefusal(err); !found {
		err = &cloud.Error{Kind: cloud.Invalid, Op: "helm:" + op, Resource: "release " + name, Err: err}
	}
	return fmt.Errorf("%s release %s: %w", op, name, err)
}
