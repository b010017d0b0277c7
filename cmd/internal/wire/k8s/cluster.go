// Package k8s opens and lists clusters on Kubernetes, and gives the commands access to Kubernetes,
// registries and the chart.
package k8s

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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

// At selects a Kubernetes cluster and a namespace. Empty fields have the defaults of kubectl.
type At struct {
	Kubeconfig, Context, Namespace string
	// Log receives every call; it may be nil.
	Log *slog.Logger
}

// Values holds the values from flags, in Helm's syntax.
type Values struct {
	Files, Set, SetString, SetFile, SetJSON []string
	// Reset discards the current values of the cluster.
	Reset bool
}

// Request selects a cluster on Kubernetes and describes the operation.
type Request struct {
	Cluster string
	At      At
	// CreateNamespace creates the namespace if it does not exist.
	CreateNamespace bool
	// Given holds the requested values. If it is nil, the cluster is opened as it exists.
	Given *Values
	// Adopt replaces a release of Determined's chart and keeps its values.
	Adopt bool
	// Unread opens the cluster even if its values are invalid.
	Unread bool
	// NoWait does not wait for the master. Limit is the time limit of the wait.
	NoWait bool
	Limit  time.Duration
	// BackupClaim is an existing claim for backups, and BackupBucket an alternative of the form
	// "s3://bucket/prefix".
	BackupClaim, BackupBucket string

	Sink event.Sink
}

// Opened is an opened cluster on Kubernetes.
type Opened struct {
	wire.Opened

	Target *k8s.Target
	// Kube is a read-only client.
	Kube *kube.Client
	// Helm describes the Helm release.
	Helm helm.Info
	// Applied is true if there is a master without a release because the chart was applied without Helm.
	Applied bool
	// OtherEffects has a sentence for each given value whose effect differs from that in Determined's
	// chart.
	OtherEffects []string

	// kept holds the current values of the cluster, which the given values override.
	kept chart.Values
}

// The names of the settings that are recorded for a cluster on Kubernetes.
const (
	valuesSetting  = "values"
	secretsSetting = "secret-values"
)

// Open opens a cluster. It changes nothing.
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
	if err = k.ReadRecord(ctx, store); err != nil {
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
	k.Removed = k.Removed && !k.Released() && !k.Applied
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

// readOnly returns a gate that is never opened.
func readOnly() *resource.Gate { return new(resource.Gate) }

func openKube(at At, gate *resource.Gate) (*kube.Client, error) {
	return kube.Open(kube.Options{
		Kubeconfig: at.Kubeconfig, Context: at.Context, Namespace: at.Namespace,
		UserAgent: "det-deploy/" + build.Read().Version, Gate: gate, Log: at.Log,
	})
}

// openStore returns the store of the record. It uses no gate, because the record is written by the holder
// of the lease and while acquiring it.
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

// currentValues returns the given values merged over those of the release. Before the first release, they
// are merged over the values recorded by an interrupted install or before the cluster was removed.
func (k *Opened) currentValues(q Request) (chart.Values, error) {
	given := q.Given
	base := chart.Values(k.Helm.Values)
	if !k.Released() {
		base = nil
		if err := yaml.Unmarshal([]byte(k.Record.Settings[valuesSetting]), &base); err != nil {
			return nil, fmt.Errorf("cannot read the recorded values: %w", err)
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

// missingSecrets returns an error that names the secrets given to an interrupted or earlier install, because secrets
// are not recorded.
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
		Fix: "give it again with --set-file or --values, or discard all values with --reset-values",
		Err: fmt.Errorf("secrets are not recorded, and the cluster was given %s before", strings.Join(lost, ", ")),
	}
}

// MergeValues merges the values from flags.
func MergeValues(v Values) (chart.Values, error) {
	return helm.Values(helm.Given{Files: v.Files, Set: v.Set, SetString: v.SetString, SetFile: v.SetFile, SetJSON: v.SetJSON})
}

// Released reports whether the cluster has a Helm release.
func (k *Opened) Released() bool {
	return k.Helm.Status != helm.Absent && k.Helm.Status != helm.Uninstalled
}

func (k *Opened) runInstall(ctx context.Context, s *term.Streams, q Request, store record.Store, gate *resource.Gate) error {
	text, err := yaml.Marshal(k.Target.Values.Remembered())
	if err != nil {
		return fmt.Errorf("cannot encode the values: %w", err)
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

// Exists reports whether any object of the cluster exists.
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

// ListKept lists the recorded values by their first keys, after a colon, or returns "".
func (k *Opened) ListKept() string {
	var values chart.Values
	if err := yaml.Unmarshal([]byte(k.Record.Settings[valuesSetting]), &values); err != nil || len(values) == 0 {
		return ""
	}
	return ": " + strings.Join(slices.Sorted(maps.Keys(values)), ", ")
}

// Namespace returns the cluster's namespace.
func (k *Opened) Namespace() string { return k.Target.Namespace }
