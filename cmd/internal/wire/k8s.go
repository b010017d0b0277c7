package wire

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/installer/target/local"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/templates"
)

// K8sAt says which Kubernetes is meant, and which namespace of it. What is empty is
// as kubectl has it.
type K8sAt struct {
	Kubeconfig, Context, Namespace string
	// Log shows every call; it may be nil.
	Log *slog.Logger
}

// K8sValues are values as flags give them, in Helm's own syntax.
type K8sValues struct {
	Files, Set, SetString, SetFile, SetJSON []string
	// Reset forgets the values that the cluster has.
	Reset bool
}

// K8sRequest says which cluster on Kubernetes is meant, and for what.
type K8sRequest struct {
	Cluster string
	At      K8sAt
	// CreateNamespace makes the namespace if it is not there.
	CreateNamespace bool
	// Given is what the user says the cluster should be; nil when nothing is to be
	// said, and the cluster is taken as it is.
	Given *K8sValues
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

// K8s is a cluster on Kubernetes, with what works on it.
type K8s struct {
	Opened

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
}

// The names of what the record keeps of a cluster on Kubernetes.
const (
	valuesSetting  = "values"
	secretsSetting = "secret-values"
)

// NewK8s puts together what works on a cluster. It changes nothing.
func NewK8s(ctx context.Context, s *term.Streams, q K8sRequest) (*K8s, error) {
	if q.At.Log != nil {
		kube.Quiet(q.At.Log)
	}
	gate := new(resource.Gate)
	working, err := openKube(q.At, gate)
	if err != nil {
		return nil, err
	}
	k := &K8s{}
	if k.Kube, err = openKube(q.At, readOnly()); err != nil {
		return nil, err
	}
	store, err := k8sStore(q, working.Namespace())
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
	if k.Target, err = k8sTarget(q, working, values); err != nil {
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
		if err := k.checkValues(); err != nil {
			return nil, k.wrapUnadoptable(err, q.Adopt)
		}
	}
	return k, k.runInstall(ctx, s, q, store, gate)
}

// readOnly is a gate that is never opened.
func readOnly() *resource.Gate { return new(resource.Gate) }

func openKube(at K8sAt, gate *resource.Gate) (*kube.Client, error) {
	return kube.Open(kube.Options{
		Kubeconfig: at.Kubeconfig, Context: at.Context, Namespace: at.Namespace,
		UserAgent: "det-deploy/" + build.Read().Version, Gate: gate, Log: at.Log,
	})
}

// k8sStore is the place of the record. It asks no gate: the writer holds the
// lease, or is about to.
func k8sStore(q K8sRequest, namespace string) (record.Store, error) {
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

func k8sTarget(q K8sRequest, c *kube.Client, values k8s.Values) (*k8s.Target, error) {
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
func (k *K8s) currentValues(q K8sRequest) (k8s.Values, error) {
	given := q.Given
	base := k8s.Values(k.Helm.Values)
	if !k.Released() {
		base = nil
		if err := yaml.Unmarshal([]byte(k.Record.Settings[valuesSetting]), &base); err != nil {
			return nil, fmt.Errorf("read the values that the record remembers: %w", err)
		}
	}
	if given == nil {
		return base, nil
	}
	over, err := K8sGiven(*given)
	if err != nil {
		return nil, err
	}
	k.OtherEffects = k8s.OtherEffects(over)
	if q.Adopt {
		return k8s.Adopted(k.Helm.Values, over)
	}
	if given.Reset {
		base = nil
	}
	out := over.Over(base)
	return out, k.missingSecrets(out, given.Reset)
}

// checkValues refuses values that the chart or its master would, before any server is asked
// about what they lead to.
func (k *K8s) checkValues() error {
	out, err := helm.Render(helm.Release{Name: k.Target.Cluster, Namespace: k.Target.Namespace, Values: k.Target.Values, Chart: k.Target.Chart}, helm.NoServer())
	if err != nil {
		return err
	}
	return masterTakes(out, k.Target.Cluster)
}

// missingSecrets names the secrets that an interrupted install was given and that are stored nowhere.
func (k *K8s) missingSecrets(values k8s.Values, reset bool) error {
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

// K8sGiven merges what flags give.
func K8sGiven(v K8sValues) (k8s.Values, error) {
	return helm.Values(helm.Given{Files: v.Files, Set: v.Set, SetString: v.SetString, SetFile: v.SetFile, SetJSON: v.SetJSON})
}

// Released reports whether Helm knows a release of the cluster.
func (k *K8s) Released() bool {
	return k.Helm.Status != helm.Absent && k.Helm.Status != helm.Uninstalled
}

func (k *K8s) runInstall(ctx context.Context, s *term.Streams, q K8sRequest, store record.Store, gate *resource.Gate) error {
	text, err := yaml.Marshal(k.Target.Values.Remembered())
	if err != nil {
		return fmt.Errorf("remember the values: %w", err)
	}
	settings := map[string]string{valuesSetting: string(text)}
	if secrets := k.Target.Values.Secrets(); len(secrets) > 0 {
		settings[secretsSetting] = strings.Join(secrets, ",")
	}
	holder, err := local.Holder(s.Getenv, rand.Text(), "")
	if err != nil {
		return err
	}
	release := k.Record.Release
	if q.Given != nil {
		if release, err = k.Target.Wants(ctx); err != nil {
			return err
		}
	}
	k.Installer = &installer.Installer{
		Cluster: q.Cluster, Platform: "k8s", Settings: settings, Release: release,
		Deployment: k.Target, Store: store, Gate: gate,
		Holder: holder, Dead: local.Dead, Emit: q.Sink,
	}
	return nil
}

// Exists reports whether anything of the cluster is there.
func (k *K8s) Exists(ctx context.Context) (bool, error) {
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
func (k *K8s) Namespace() string { return k.Target.Namespace }
