package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// release is the Helm release with all its objects.
type release struct {
	*Target

	// makes lists the objects that Find found missing, if there is no release.
	makes []string
}

var (
	_ resource.Resource  = (*release)(nil)
	_ resource.Updater   = (*release)(nil)
	_ resource.Described = (*release)(nil)
)

func (r *release) ID() string { return "k8s/release/" + r.Cluster }

// Kind returns the kind of releases in the inventory.
func (r *release) Kind() string { return kindRelease }

// Needs returns nil: the namespace is created with the record.
func (r *release) Needs() []string { return nil }

// Find reads the release and compares every live object with the rendered one. It skips the
// comparison if the values are unknown.
func (r *release) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	info, found, err := r.lookUp(ctx)
	if err != nil || r.Unread {
		return found, nil, err
	}
	if found.Exists() && info.Foreign {
		drift, err := r.adoptionDrift(ctx, info)
		return found, drift, err
	}
	if !found.Exists() { // invalid values and objects in the way are reported before the plan is confirmed
		missing, err := r.compareObjects(ctx)
		r.makes = nil
		for _, d := range missing {
			if d.Have == notThere {
				r.makes = append(r.makes, d.Path)
			}
		}
		return found, nil, err
	}
	drift, err := r.listDrift(ctx, info)
	return found, drift, err
}

// Describe implements resource.Described with the objects of the release.
func (r *release) Describe() []string { return r.makes }

// lookUp reads the release from Helm. It returns an error for a release of another chart, unless
// that is Determined's and is to be adopted.
func (r *release) lookUp(ctx context.Context) (helm.Info, resource.Found, error) {
	info, err := r.Helm.Status(ctx, r.Cluster)
	if err != nil || info.Status == helm.Absent || info.Status == helm.Uninstalled {
		return info, resource.Found{}, err
	}
	if err := info.ForeignError(); err != nil && (!r.Adopt || !info.Alike || r.Unread) {
		return info, resource.Found{}, err
	}
	return info, resource.Found{Kind: kindRelease, ID: r.Cluster, Name: r.Cluster}, nil
}

// listDrift returns the differences: the state of the release first, then those of each object.
func (r *release) listDrift(ctx context.Context, info helm.Info) ([]resource.Drift, error) {
	var out []resource.Drift
	if info.Status != helm.Deployed {
		out = append(out, resource.Drift{Path: "status", Have: string(info.Status), Want: string(helm.Deployed)})
	}
	out = append(out, storageDrift(info.Values, r.Values)...)
	objects, err := r.compareObjects(ctx)
	return append(out, objects...), err
}

// storageDrift reports that a changed checkpointStorage leaves the former one in use. It is pure.
func storageDrift(have, want chart.Values) []resource.Drift {
	from, to := describeStorage(have), describeStorage(want)
	if from == to {
		return nil
	}
	return []resource.Drift{{
		Path: "checkpointStorage", Have: from,
		Want: to + "; experiments that exist keep " + from + ", which has to stay until they are deleted",
	}}
}

// describeStorage names the checkpoint storage in values.
func describeStorage(v chart.Values) string {
	text := func(key string) string { return v.Text("checkpointStorage." + key) }
	kind := cmp.Or(text("type"), "shared_fs")
	if claim := text("existingClaim"); claim != "" {
		return kind + " in claim " + claim
	}
	place := strings.TrimRight(cmp.Or(text("bucket"), text("container"), text("containerPath"), text("hostPath"))+"/"+text("prefix"), "/")
	return strings.TrimRight(kind+" "+place, " ")
}

// renderChart renders the chart for this server.
func (r *release) renderChart(ctx context.Context) (helm.Rendered, error) {
	caps, err := r.Helm.Capabilities(ctx)
	if err != nil {
		return helm.Rendered{}, err
	}
	return helm.Render(r.helmRelease(), caps)
}

// Wants returns the release that the values select, which is the tag of the master's image.
func (t *Target) Wants(ctx context.Context) (record.Release, error) {
	out, err := t.newRelease().renderChart(ctx)
	if err != nil {
		return record.Release{}, err
	}
	d, err := masterOf(out, t.Cluster)
	if err != nil {
		return record.Release{}, err
	}
	return record.Release{Version: versionOfImage(masterIn(&d.Spec.Template.Spec).Image)}, nil
}

// masterOf returns the master's Deployment among rendered objects.
func masterOf(r helm.Rendered, cluster string) (*appsv1.Deployment, error) {
	d, err := findDeployment(r, masterPrefix+cluster)
	if err == nil && d == nil {
		err = errors.New("read the chart: it has no Deployment " + masterPrefix + cluster)
	}
	return d, err
}

// findDeployment returns a Deployment among rendered objects, or nil if it is missing.
func findDeployment(r helm.Rendered, name string) (*appsv1.Deployment, error) {
	for _, o := range r.Objects {
		if o.Kind != "Deployment" || o.Name != name {
			continue
		}
		d := new(appsv1.Deployment)
		if err := yaml.Unmarshal([]byte(o.YAML), d); err != nil {
			return nil, fmt.Errorf("read the chart's %s: %w", o, err)
		}
		if len(d.Spec.Template.Spec.Containers) == 0 {
			return nil, fmt.Errorf("read the chart's %s: it has no container", o)
		}
		return d, nil
	}
	return nil, nil //nolint:nilnil // nil means none
}

// Create installs the release.
func (r *release) Create(ctx context.Context) error {
	_, err := r.Helm.Install(ctx, r.helmRelease())
	return err
}

// Update upgrades the release, or replaces Determined's.
func (r *release) Update(ctx context.Context, drift []resource.Drift) error {
	info, err := r.Helm.Status(ctx, r.Cluster)
	if err != nil {
		return err
	}
	if r.Adopt && info.Alike {
		return r.takeOver(ctx)
	}
	if err := r.tryFirst(ctx, drift); err != nil {
		return err
	}
	_, err = r.Helm.Upgrade(ctx, r.helmRelease())
	return err
}

// Delete uninstalls the release.
func (r *release) Delete(ctx context.Context) error {
	_, err := r.Helm.Uninstall(ctx, r.Cluster)
	return err
}
