// Package k8s opens clusters on Kubernetes with what works on them, lists them, and has what
// their commands ask of a Kubernetes, a registry and the chart.
package k8s

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/templates"
)

// At says which Kubernetes is meant, and which namespace of it. What is empty is
// as kubectl has it.
type At struct {
	Kubeconfig, Context, Namespace string
	// Log shows every call; it may be nil.
	Log *slog.Logger
}

// Values are values as flags give them, in Helm's own syntax.
type Values struct {
	Files, Set, SetString, SetFile, SetJSON []string
	// Reset forgets the values that the cluster has.
	Reset bool
}

// Request says which cluster on Kubernetes is meant, and for what.
type Request struct {
	Cluster string
	At      At
	// CreateNamespace makes the namespace if it is not there.
	CreateNamespace bool
	// Given is what the user says the cluster should be; nil when nothing is to be
	// said, and the cluster is taken as it is.
	Given *Values
	// Adopt takes the place of a release of Determined's chart, with its values.
	Adopt bool
	// Unread takes the cluster as it is, whether or not its values make sense.
	Unread bool
	// NoWait ends waiting early, and Limit late.
	NoWait bool
	Limit  time.Duration
	// BackupClaim is an existing claim for backups, and BackupBucket "s3://bucket/prefix"
	// in its place.
	BackupClaim, BackupBucket string

	Sink event.Sink
}

// Opened is a cluster cluster on Kubernetes, with what works on it.
type Opened struct {
	wire.Opened

	Target *k8s.Target
	// Kube is a client that may look and not change.
	Kube *kube.Client
	// Helm is what Helm has written down of its release.
	Helm helm.Info
	// Applied is true when there is no release, and a master all the same: the chart was
	// applied without Helm.
	Applied bool
	// OtherEffects is a sentence for each given value that means something else than in
	// Determined's chart.
	OtherEffects []string

	// kept are the values that the cluster has, over which those given are laid.
	kept chart.Values
}

// The names of what the record keeps of a cluster on Kubernetes.
const (
	valuesSetting  = "values"
	secretsSetting = "secret-values"
)

// Open puts together what works on a cluster. It changes nothing.
func Open(ctx context.Context, s *term.Streams, q Request) (*Opened, error) {
	if q.At.Log != nil {
		kube.Quiet(q.At.Log)
	}
	gate := new(resource.Gate)
	working, err := openKube(q.At, gate)
	if err != nil {
		return nil, err
	}
	k := &Opened{}
	if k.Kube, err = openKube(q.At, readOnly()); err != nil {
		return nil, err
	}
	store, err := openStore(q, working.Namespace())
	if err != nil {
		return nil, err
	}
	if k.Record, _, k.Known, err = record.Read(ctx, store); err != nil {
		return nil, err
	}
	if k.Helm, err = k8s.OpenReleases(k.Kube, "", q.At.Log).Status(ctx, q.Cluster); err != nil {
		return nil, err
	}
	if err := k.checkOwner(q.Adopt); err != nil {
		return nil, err
	}
	values, err := k.currentValues(q)
	if err != nil {
		return nil, err
	}
	if k.Target, err = openTarget(q, working, values); err != nil {
		return nil, err
	}
	k.Target.CreateNamespace, k.Target.Installed = q.CreateNamespace, k.Released()
	if !k.Released() {
		if k.Applied, err = k.Target.Applied(ctx); err != nil {
			return nil, err
		}
	}
	if k.Applied && q.Given != nil {
		return nil, &appliedError{q.Cluster, k.Namespace()}
	}
	if q.Unread {
		if store, err = k.recordOf(ctx, s, store); err != nil {
			return nil, err
		}
	}
	if q.Given != nil {
		if err := k.requireGoodValues(ctx, q); err != nil {
			return nil, k.wrapUnadoptable(err, q.Adopt)
		}
	}
	return k, k.runInstall(ctx, s, q, store, gate)
}

// readOnly is a gate that is never opened.
func readOnly() *resource.Gate { return new(resource.Gate) }

func openKube(at At, gate *resource.Gate) (*kube.Client, error) {
	return kube.Open(kube.Options{
		Kubeconfig: at.Kubeconfig, Context: at.Context, Namespace: at.Namespace,
		UserAgent: "det-deploy/" + build.Read().Version, Gate: gate, Log: at.Log,
	})
}

// openStore is the place of the record. It asks no gate: the writer holds the
// lease, or is about to.
func openStore(q Request, namespace string) (record.Store, error) {
	free, err := openKube(q.At, nil)
	if err != nil {
		return nil, err
	}
	api, err := free.Clientset()
	if err != nil {
		return nil, err
	}
	return k8s.Store{
		Secrets: api.CoreV1().Secrets(namespace), Namespace: namespace, Cluster: q.Cluster,
		Before: func(ctx context.Context) error { return k8s.MakeNamespace(ctx, api, namespace, q.CreateNamespace) },
	}, nil
}

func openTarget(q Request, c *kube.Client, values chart.Values) (*k8s.Target, error) {
	api, err := c.Clientset()
	if err != nil {
		return nil, err
	}
	return &k8s.Target{
		Cluster: q.Cluster, Namespace: c.Namespace(), Kube: c, API: api,
		Helm:  k8s.OpenReleases(c, "", q.At.Log),
		Chart: templates.Chart(build.Read().Version), Values: values,
		Adopt: q.Adopt, Unread: q.Unread, NoWait: q.NoWait, Limit: q.Limit, BackupClaim: q.BackupClaim, BackupBucket: q.BackupBucket,
	}, nil
}

// currentValues are those that hold: what is given over what the release has, or, before
// there is one, over what the record remembers of an interrupted install.
func (k *Opened) currentValues(q Request) (chart.Values, error) {
	given := q.Given
	base := chart.Values(k.Helm.Values)
	if !k.Released() {
		base = nil
		if err := yaml.Unmarshal([]byte(k.Record.Settings[valuesSetting]), &base); err != nil {
			return nil, fmt.Errorf("read the values that the record remembers: %w", err)
		}
	}
	if given == nil {
		return base, nil
	}
	over, err := MergeValues(*given)
	if err != nil {
		return nil, err
	}
	k.OtherEffects = chart.OtherEffects(over)
	if q.Adopt {
		k.kept = k.Helm.Values
		return chart.Adopted(k.Helm.Values, over)
	}
	if given.Reset {
		base = nil
	}
	k.kept = base
	out := over.Over(base)
	return out, k.missingSecrets(out, given.Reset)
}

// missingSecrets names the secrets that an interrupted install was given and that are stored nowhere.
func (k *Opened) missingSecrets(values chart.Values, reset bool) error {
	if k.Released() || reset || k.Record.Settings[secretsSetting] == "" {
		return nil
	}
	var lost []string
	for path := range strings.SplitSeq(k.Record.Settings[secretsSetting], ",") {
		if _, found := values.Get(path); !found {
			lost = append(lost, path)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "continue the install",
		Fix: "give it again with --set-file or --values, as the first time, or forget all with --reset-values",
		Err: fmt.Errorf("the record keeps no secrets, and %s was given to the one that was interrupted", strings.Join(lost, ", ")),
	}
}

// MergeValues merges what flags give.
func MergeValues(v Values) (chart.Values, error) {
	return helm.Values(helm.Given{Files: v.Files, Set: v.Set, SetString: v.SetString, SetFile: v.SetFile, SetJSON: v.SetJSON})
}

// Released reports whether Helm knows a release of the cluster.
func (k *Opened) Released() bool {
	return k.Helm.Status != helm.Absent && k.Helm.Status != helm.Uninstalled
}

func (k *Opened) runInstall(ctx context.Context, s *term.Streams, q Request, store record.Store, gate *resource.Gate) error {
	text, err := yaml.Marshal(k.Target.Values.Remembered())
	if err != nil {
		return fmt.Errorf("remember the values: %w", err)
	}
	settings := map[string]string{valuesSetting: string(text)}
	if secrets := k.Target.Values.Secrets(); len(secrets) > 0 {
		settings[secretsSetting] = strings.Join(secrets, ",")
	}
	release := k.Record.Release
	if q.Given != nil {
		if release, err = k.Target.Wants(ctx); err != nil {
			return err
		}
	}
	return k.Install(s, "", installer.Installer{
		Cluster: q.Cluster, Platform: "k8s", Settings: settings, Release: release,
		Deployment: k.Target, Store: store, Gate: gate, Emit: q.Sink,
	})
}

// Exists reports whether anything of the cluster is there.
func (k *Opened) Exists(ctx context.Context) (bool, error) {
	if k.Known || k.Released() || k.Applied {
		return true, nil
	}
	found, err := k.Target.Inventory(ctx, k.Cluster)
	if err != nil || len(found) > 0 {
		return true, err
	}
	found, err = k.Target.Remains(ctx)
	return len(found) > 0, err
}

// Namespace is where the cluster is.
func (k *Opened) Namespace() string { return k.Target.Namespace }
