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
	// Kube opens clients; API is the typed client and Helm that of releases. All changes ask the
	// same gate.
	Kube *kube.Client
	API  kube.API
	Helm *helm.Client
	// Chart is the chart of this program. Its version is the tag of the master's image unless the
	// values set another.
	Chart fs.FS
	// Values are the user's merged values. They may contain secrets.
	Values chart.Values
	// Unread is set for `uninstall`, which depends only on existing objects and ignores the values.
	Unread bool
	// Adopt replaces a release of Determined's chart of that name.
	Adopt bool
	// NoWait returns once the release is deployed. Otherwise, Limit is the time for it to become
	// ready.
	NoWait bool
	Limit  time.Duration
	// Glance is the polling interval; zero means two seconds.
	Glance time.Duration
	// Patience is how long to wait in spite of a lasting problem; zero means a minute.
	Patience time.Duration
	// AnswerLimit is how long a master whose pod is ready may take to answer; zero means a minute.
	AnswerLimit time.Duration
	// BackupClaim is an existing claim for backups; if empty, the cluster creates one.
	BackupClaim string
	// BackupBucket is "s3://bucket/prefix" if backups are written to a bucket.
	BackupBucket string
	// CreateNamespace creates a missing namespace. Installed reports that the release exists. Both
	// affect the checks.
	CreateNamespace, Installed bool
}

var (
	_ installer.Deployment  = (*Target)(nil)
	_ installer.Upgradable  = (*Target)(nil)
	_ installer.Abandonable = (*Target)(nil)
)

// Wanted returns the release, which contains all objects of the cluster.
func (t *Target) Wanted() ([]resource.Resource, error) {
	return []resource.Resource{t.newRelease()}, nil
}

func (t *Target) newRelease() *release { return &release{Target: t} }

// helmRelease converts the release to Helm's form.
func (r *release) helmRelease() helm.Release {
	return helm.Release{Name: r.Cluster, Namespace: r.Namespace, Values: r.Values, Chart: r.Chart, Without: []string{imageCheck}}
}

// These return the parts of a target.

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

func (t *Target) newAccess() access {
	return access{waiter: t.newWaiter(), values: t.Values, answerLimit: cmp.Or(t.AnswerLimit, answerLimit)}
}

func (t *Target) newUpgrade() upgrade { return upgrade{t} }

// ChartName is the name of the chart in releases. Determined's own chart has the same name; the
// label of the objects distinguishes the two.
const ChartName = "determined"

// OpenReleases returns Helm's client for releases of det-deploy's chart, which changes no other
// releases. If namespace is empty, that of c applies.
func OpenReleases(c *kube.Client, namespace string, log *slog.Logger) *helm.Client {
	return helm.Open(helm.Config{Kube: c, Namespace: namespace, Log: log, Origin: &helm.Origin{Chart: ChartName, Mark: clusterLabel}})
}
