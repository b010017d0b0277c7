package k8s

import (
	"cmp"
	"io/fs"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// Target is one cluster on Kubernetes: the release of its name in a namespace.
type Target struct {
	Cluster, Namespace string
	// Kube opens clients; API is the typed one and Helm the one for releases. What
	// they change passes the same gate.
	Kube *kube.Client
	API  kube.API
	Helm *helm.Client
	// Chart is the chart of this program, whose version is the tag of the master's
	// image unless the values say otherwise.
	Chart fs.FS
	// Values are the user's, merged. They may hold secrets.
	Values chart.Values
	// Unread is true when the cluster is to go: only what is there counts, whether or
	// not the values make sense.
	Unread bool
	// Adopt takes the place of a release of Determined's chart that has the name.
	Adopt bool
	// NoWait ends as soon as the release is deployed; Limit is how long it may take
	// otherwise.
	NoWait bool
	Limit  time.Duration
	// Glance is the pause between two looks at what is to change; zero is two seconds.
	Glance time.Duration
	// Patience is how long what does not pass by itself is waited for all the same; zero
	// is a minute.
	Patience time.Duration
	// BackupClaim is an existing claim for backups, or empty for the cluster's own.
	BackupClaim string
	// BackupBucket is "s3://bucket/prefix" where backups go to a bucket instead.
	BackupBucket string
	// CreateNamespace is true when the namespace is made if it is not there, and
	// Installed when the release is there already: both change what is checked.
	CreateNamespace, Installed bool
}

var (
	_ installer.Deployment  = (*Target)(nil)
	_ installer.Upgradable  = (*Target)(nil)
	_ installer.Abandonable = (*Target)(nil)
)

// Wanted is the release: all that a cluster consists of is in it.
func (t *Target) Wanted() ([]resource.Resource, error) {
	return []resource.Resource{t.newRelease()}, nil
}

func (t *Target) newRelease() *release { return &release{Target: t} }

// helmRelease is the release in Helm's form.
func (r *release) helmRelease() helm.Release {
	return helm.Release{Name: r.Cluster, Namespace: r.Namespace, Values: r.Values, Chart: r.Chart, Without: []string{imageCheck}}
}

// The parts of a target: each has what it needs of it.

func (t *Target) newWaiter() waiter {
	return waiter{place: t.newPlace(), glance: cmp.Or(t.Glance, glance), patience: cmp.Or(t.Patience, patience), limit: cmp.Or(t.Limit, DefaultLimit)}
}

func (t *Target) newErrands() errands { return errands{t.newWaiter()} }

func (t *Target) newInventory() inventory {
	return inventory{waiter: t.newWaiter(), release: t.newRelease(), spaces: t.taskNamespaces(), unread: t.Unread}
}

func (t *Target) newClaims() claims {
	return claims{place: t.newPlace(), values: t.Values, given: t.BackupClaim}
}

func (t *Target) newAccess() access { return access{waiter: t.newWaiter(), values: t.Values} }

func (t *Target) newUpgrade() upgrade { return upgrade{t} }

// ChartName is what the chart calls itself in releases. Determined's own chart is
// called the same, so the mark on the objects distinguishes the two.
const ChartName = "determined"

// OpenReleases is Helm's client for the releases of det-deploy's chart: it changes no
// others. An empty namespace is c's.
func OpenReleases(c *kube.Client, namespace string, log *slog.Logger) *helm.Client {
	return helm.Open(helm.Config{Kube: c, Namespace: namespace, Log: log, Origin: &helm.Origin{Chart: ChartName, Mark: clusterLabel}})
}
