package helm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/det-deploy/det-deploy/cloud"
)

// Status is the status of a release, in Helm's terms.
type Status string

// Values of Status. A pending status was written by a client that is still running or was
// interrupted.
const (
	Deployed        Status = "deployed"
	Failed          Status = "failed"
	Superseded      Status = "superseded"
	Uninstalled     Status = "uninstalled"
	Uninstalling    Status = "uninstalling"
	PendingInstall  Status = "pending-install"
	PendingUpgrade  Status = "pending-upgrade"
	PendingRollback Status = "pending-rollback"
	// Absent is the status of a release without a record. It is not foreign.
	Absent Status = "absent"
)

// Pending reports whether an operation was in progress when the status was written.
func (s Status) Pending() bool {
	return s == PendingInstall || s == PendingUpgrade || s == PendingRollback
}

// Info describes one revision of a release.
type Info struct {
	Name       string    `json:"name"`
	Namespace  string    `json:"namespace"`
	Status     Status    `json:"status"`
	Revision   int       `json:"revision"`
	Chart      string    `json:"chart"`
	Version    string    `json:"version"`
	AppVersion string    `json:"app_version"`
	Updated    time.Time `json:"updated"`
	// Description is Helm's description: "Upgrade complete".
	Description string `json:"description,omitempty"`
	// Notes are the chart's notes.
	Notes string `json:"-"`
	// Values are the user's values. They may contain secrets.
	Values map[string]any `json:"-"`
	// Foreign is true if the release does not belong to the client's origin, and Alike if its chart
	// still has the same name.
	Foreign, Alike bool `json:"-"`
}

func (r *run) infoOf(rel *release.Release) Info {
	out := Info{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Version, Values: rel.Config, Foreign: !r.origin.ownsRevision(rel)}
	if rel.Info != nil {
		out.Status, out.Description, out.Notes = Status(rel.Info.Status), rel.Info.Description, rel.Info.Notes
		out.Updated = rel.Info.LastDeployed.Time
	}
	if rel.Chart != nil && rel.Chart.Metadata != nil {
		m := rel.Chart.Metadata
		out.Chart, out.Version, out.AppVersion = m.Name, m.Version, m.AppVersion
	}
	out.Alike = out.Foreign && out.Chart == r.origin.Chart
	return out
}

// Status returns the latest revision of a release. If the release does not exist, it returns the
// status Absent and no error.
func (c *Client) Status(ctx context.Context, name string) (Info, error) {
	r, err := c.beginRun(ctx)
	if err != nil {
		return Info{}, err
	}
	rels, err := r.readHistory(name)
	if err != nil {
		return Info{}, r.explainError("read", name, err)
	}
	if len(rels) == 0 {
		return Info{Name: name, Namespace: r.kube.Namespace(), Status: Absent}, nil
	}
	return r.infoOf(rels[len(rels)-1]), nil
}

// History returns all retained revisions, the oldest first.
func (c *Client) History(ctx context.Context, name string) ([]Info, error) {
	r, err := c.beginRun(ctx)
	if err != nil {
		return nil, err
	}
	rels, err := r.readHistory(name)
	if err != nil {
		return nil, r.explainError("read", name, err)
	}
	out := make([]Info, len(rels))
	for i, rel := range rels {
		out[i] = r.infoOf(rel)
	}
	return out, nil
}

// List returns the latest revision of each release of a chart, in the client's namespace or in all
// namespaces.
func (c *Client) List(ctx context.Context, chart string, everywhere bool) ([]Info, error) {
	from := c
	if everywhere {
		from = &Client{kube: c.kube.In(""), log: c.log, origin: c.origin}
	}
	r, err := from.beginRun(ctx)
	if err != nil {
		return nil, err
	}
	rels, err := r.config.Releases.ListReleases()
	if err != nil {
		return nil, r.explainError("list", "of chart "+chart, err)
	}
	latest := make(map[string]Info)
	for _, rel := range rels {
		i := r.infoOf(rel)
		key := i.Namespace + "/" + i.Name
		if i.Chart == chart && i.Revision > latest[key].Revision {
			latest[key] = i
		}
	}
	out := make([]Info, 0, len(latest))
	for _, i := range latest {
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return out, nil
}

// readHistory returns all revisions, the oldest first, or nil if there are none.
func (r *run) readHistory(name string) ([]*release.Release, error) {
	rels, err := r.config.Releases.History(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rels, func(a, b *release.Release) int { return a.Version - b.Version })
	return rels, nil
}

// currentRevision returns the revision whose objects are assumed live: the last deployed one, or
// else the latest.
func currentRevision(rels []*release.Release) *release.Release {
	for _, rel := range slices.Backward(rels) {
		if rel.Info.Status == release.StatusDeployed {
			return rel
		}
	}
	return rels[len(rels)-1]
}

func asRefusal(err error) (*cloud.Error, bool) { return errors.AsType[*cloud.Error](err) }
