package helm

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	helmkube "helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
)

// deployment is a revision on its way to the server.
type deployment struct {
	rel *release.Release
	// before is the revision that it replaces, nil for a first one.
	before *release.Release
	// former is one that was uninstalled and remembered, where there is no before.
	former *release.Release
	// have are the objects that are this release's already, and want those of the revision.
	have, want helmkube.ResourceList
}

// planInstall prepares the first revision of a release. Rels are revisions that were
// uninstalled and remembered.
func (r *run) planInstall(want Release, rels []*release.Release) (*deployment, error) {
	rel, err := r.renderFor(want, chartutil.ReleaseOptions{Name: want.Name, Namespace: r.kube.Namespace(), Revision: 1, IsInstall: true})
	if err != nil {
		return nil, err
	}
	rel.Version = 1
	rel.SetStatus(release.StatusPendingInstall, "Initial install underway")
	d := &deployment{rel: rel}
	if len(rels) > 0 {
		d.former = rels[len(rels)-1]
		rel.Version = d.former.Version + 1
	}
	return r.findObjects(d)
}

// planUpgrade prepares the next revision.
func (r *run) planUpgrade(want Release, rels []*release.Release) (*deployment, error) {
	before, last := currentRevision(rels), rels[len(rels)-1]
	rel, err := r.renderFor(want, chartutil.ReleaseOptions{Name: want.Name, Namespace: before.Namespace, Revision: last.Version + 1, IsUpgrade: true})
	if err != nil {
		return nil, err
	}
	rel.Version, rel.Labels = last.Version+1, maps.Clone(last.Labels)
	rel.Info.FirstDeployed = before.Info.FirstDeployed
	rel.SetStatus(release.StatusPendingUpgrade, "Preparing upgrade")
	return r.findObjects(&deployment{rel: rel, before: before})
}

func (r *run) renderFor(want Release, as chartutil.ReleaseOptions) (*release.Release, error) {
	caps, err := r.askCapabilities()
	if err != nil {
		return nil, err
	}
	return renderRevision(want, as, caps)
}

// findObjects finds the objects of a deployment, and refuses those that others have made.
func (r *run) findObjects(d *deployment) (*deployment, error) {
	var err error
	if d.before != nil {
		if d.have, err = r.worker.Build(bytes.NewBufferString(d.before.Manifest), false); err != nil {
			return nil, fmt.Errorf("read the objects of revision %d: %w", d.before.Version, err)
		}
	}
	if d.want, err = r.worker.Build(bytes.NewBufferString(d.rel.Manifest), false); err != nil {
		return nil, fmt.Errorf("read the objects of the chart: %w", err)
	}
	known := make(map[string]bool, len(d.have))
	for _, info := range d.have {
		known[infoKey(info)] = true
	}
	for _, info := range d.want {
		if err := markOwned(info, d.rel); err != nil {
			return nil, fmt.Errorf("mark %s: %w", describeInfo(info), err)
		}
		if known[infoKey(info)] {
			continue
		}
		found, err := adoptable(info, d.rel)
		if err != nil {
			return nil, err
		}
		if found {
			d.have.Append(info)
		}
	}
	return d, nil
}

// infoKey is the same for two wordings of one object.
func infoKey(info *resource.Info) string {
	kind := info.Object.GetObjectKind().GroupVersionKind()
	return kind.GroupVersion().String() + "/" + kind.Kind + "/" + info.Namespace + "/" + info.Name
}

// describeInfo is how a person reads it: `Secret "lab" in namespace "ml"`.
func describeInfo(info *resource.Info) string {
	return fmt.Sprintf("%s %q in namespace %q", info.Mapping.GroupVersionKind.Kind, info.Name, info.Namespace)
}

// The label that Helm puts on what it makes.
const (
	managerLabel = "app.kubernetes.io/managed-by"
	managerName  = "Helm"
)

// markOwned puts a release's marks on an object.
func markOwned(info *resource.Info, rel *release.Release) error {
	m, err := meta.Accessor(info.Object)
	if err != nil {
		return err
	}
	labels, notes := orEmpty(m.GetLabels()), orEmpty(m.GetAnnotations())
	labels[managerLabel] = managerName
	notes[ownerName], notes[ownerNamespace] = rel.Name, rel.Namespace
	m.SetLabels(labels)
	m.SetAnnotations(notes)
	return nil
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return make(map[string]string)
	}
	return m
}

// adoptable reports whether an object that the last revision does not have is there and
// carries the release's marks. One without them is another's.
func adoptable(info *resource.Info, rel *release.Release) (bool, error) {
	live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", describeInfo(info), err)
	}
	missing, err := missingMarks(live, rel)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%s exists and cannot be imported into the current release: it lacks %s", describeInfo(info), strings.Join(missing, ", "))
	}
	return err == nil, err
}

// missingMarks are the marks of a release that an object does not carry.
func missingMarks(live runtime.Object, rel *release.Release) ([]string, error) {
	m, err := meta.Accessor(live)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, mark := range []struct {
		what      string
		have      map[string]string
		key, want string
	}{
		{"label", m.GetLabels(), managerLabel, managerName},
		{"annotation", m.GetAnnotations(), ownerName, rel.Name},
		{"annotation", m.GetAnnotations(), ownerNamespace, rel.Namespace},
	} {
		if mark.have[mark.key] != mark.want {
			out = append(out, fmt.Sprintf("%s %s=%s", mark.what, mark.key, mark.want))
		}
	}
	return out, nil
}

// deploy writes a revision down, makes and changes its objects between its hooks, and
// writes down how that ended.
func (r *run) deploy(d *deployment) error {
	if d.former != nil {
		d.former.SetStatus(release.StatusSuperseded, "superseded by new release")
		if err := r.config.Releases.Update(d.former); err != nil {
			return err
		}
	}
	if err := r.config.Releases.Create(d.rel); err != nil {
		return err
	}
	begin, end, done, verb := release.HookPreInstall, release.HookPostInstall, "Install complete", "Release"
	if d.before != nil {
		begin, end, done, verb = release.HookPreUpgrade, release.HookPostUpgrade, "Upgrade complete", "Upgrade"
	}
	if err := r.applyBetween(d, begin, end); err != nil {
		d.rel.SetStatus(release.StatusFailed, fmt.Sprintf("%s %q failed: %s", verb, d.rel.Name, err))
		return errors.Join(err, r.config.Releases.Update(d.rel))
	}
	if d.before != nil {
		d.before.Info.Status = release.StatusSuperseded
		if err := r.config.Releases.Update(d.before); err != nil {
			return err
		}
	}
	d.rel.SetStatus(release.StatusDeployed, done)
	return r.config.Releases.Update(d.rel)
}

func (r *run) applyBetween(d *deployment, begin, end release.HookEvent) error {
	if err := r.runHooks(d.rel, begin); err != nil {
		return fmt.Errorf("%s hooks failed: %w", begin, err)
	}
	if err := r.applyObjects(d); err != nil {
		return err
	}
	if err := r.runHooks(d.rel, end); err != nil {
		return fmt.Errorf("%s hooks failed: %w", end, err)
	}
	return nil
}

func (r *run) applyObjects(d *deployment) error {
	if len(d.have) == 0 && len(d.want) == 0 {
		return nil
	}
	if d.before == nil && len(d.have) == 0 {
		_, err := r.worker.Create(d.want)
		return err
	}
	_, err := r.worker.Update(d.have, d.want, false)
	return err
}
