package helm

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	helmtime "helm.sh/helm/v3/pkg/time"
)

// notesFile is the chart's advice to its user.
const notesFile = "templates/NOTES.txt"

// renderRevision is a revision of a release as Helm would make and write it down. Its
// status and its number are the caller's to set; templates see those of as.
func renderRevision(want Release, as chartutil.ReleaseOptions, caps Capabilities) (*release.Release, error) {
	if err := chartutil.ValidateReleaseName(as.Name); err != nil {
		return nil, fmt.Errorf("release name %q: %w", as.Name, err)
	}
	c, err := want.loadChart()
	if err != nil {
		return nil, err
	}
	server, err := caps.forChart()
	if err != nil {
		return nil, err
	}
	if need := c.Metadata.KubeVersion; need != "" && !chartutil.IsCompatibleRange(need, server.KubeVersion.String()) {
		return nil, fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", need, server.KubeVersion.String())
	}
	given := want.copyValues()
	values, err := chartutil.ToRenderValuesWithSchemaValidation(c, given, as, server, true) // CheckValues has
	if err != nil {
		return nil, err
	}
	if len(c.CRDObjects()) > 0 {
		return nil, errors.New("the chart has resource definitions within it, which this program does not install: use Helm's own command")
	}
	files, err := engine.Render(c, values)
	if err != nil {
		return nil, err
	}
	now := helmtime.Now()
	out := &release.Release{
		Name: as.Name, Namespace: as.Namespace, Chart: c, Config: given,
		Info: &release.Info{FirstDeployed: now, LastDeployed: now, Notes: takeNotes(files, c)},
	}
	return out, writeManifest(out, files)
}

// takeNotes takes the notes out of what was rendered.
func takeNotes(files map[string]string, c *chart.Chart) string {
	name := path.Join(c.Name(), notesFile)
	notes := files[name]
	delete(files, name)
	return notes
}

// writeManifest puts the rendered files into a revision: hooks apart, objects in the order
// in which they are created.
func writeManifest(rel *release.Release, files map[string]string) error {
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range manifests {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", m.Name, m.Content)
	}
	rel.Hooks, rel.Manifest = hooks, b.String()
	return nil
}

// forChart is the server as charts see it.
func (c Capabilities) forChart() (*chartutil.Capabilities, error) {
	version, err := chartutil.ParseKubeVersion(c.KubeVersion)
	if err != nil {
		return nil, fmt.Errorf("read the server's version %q: %w", c.KubeVersion, err)
	}
	out := chartutil.DefaultCapabilities.Copy()
	out.KubeVersion, out.APIVersions = *version, append(out.APIVersions, c.APIVersions...)
	return out, nil
}
