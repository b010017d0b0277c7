// Package helm installs, upgrades and uninstalls the chart of a cluster like Helm, so that `helm
// list`, `helm history` and `helm get` display det-deploy's releases and vice versa. In addition it
// repairs releases that an interrupted client left pending, deletes objects of interrupted changes,
// and returns detailed errors.
//
// It is the only package that imports Helm's SDK.
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

// Config configures a Client.
type Config struct {
	Kube *kube.Client
	// Namespace is the namespace of the releases; empty means the client's.
	Namespace string
	// Origin identifies the releases that the client may change; nil means all.
	Origin *Origin
	// Log receives Helm's messages at debug level. If nil, nothing is logged.
	Log *slog.Logger
}

// Client manages the releases of one namespace.
type Client struct {
	kube   *kube.Client
	log    *slog.Logger
	origin *Origin
}

// Open returns a client. It makes no call.
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

// run is one Helm operation. Its calls end with its context.
type run struct {
	config *action.Configuration
	kube   *kube.Client
	worker *worker
	trail  *kube.Trail
	origin *Origin
}

// beginRun prepares an operation. Helm uses its own contexts, and continues in the background when
// canceled. Therefore the calls are bound to ctx in the transport, and the caller always waits for
// Helm.
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

// historyKept is the number of retained revisions of a release, as with the helm command.
const historyKept = 10

// explainError returns the cause of an error of Helm, which converts some errors to text and drops
// others: the error of a wait, or one recorded by the transport.
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
