package chart_test

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/templates"
)

// version is the chart version in golden files.
const version = "v1.2.3"

// load reads the embedded chart.
func load(t *testing.T) *chart.Chart {
	t.Helper()
	var files []*loader.BufferedFile
	source := templates.Chart(version)
	err := fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(source, path)
		files = append(files, &loader.BufferedFile{Name: path, Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// images is the registry of releases whose values set none.
const images = "ghcr.io/det-deploy"

// release has the parameters for rendering a chart.
type release struct {
	name, namespace string
	values          map[string]any
}

// render returns each file of the chart as Helm renders it, and fails the test if det-deploy
// renders a different result.
func render(t *testing.T, r release) (map[string]string, error) {
	t.Helper()
	c := load(t)
	given := map[string]any{"imageRegistry": images}
	maps.Copy(given, r.values)
	values, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{
		Name: r.name, Namespace: r.namespace, IsInstall: true, Revision: 1,
	}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, values)
	checkOurs(t, r, given, files, err)
	return files, err
}

// checkOurs compares the result of det-deploy with that of Helm, or with its error.
func checkOurs(t *testing.T, r release, given map[string]any, files map[string]string, refused error) {
	t.Helper()
	ours, err := helm.Render(helm.Release{Name: r.name, Namespace: r.namespace, Values: given, Chart: templates.Chart(version)}, helm.NoServer())
	if refused != nil || err != nil {
		if refused == nil || err == nil || !strings.HasSuffix(err.Error(), refused.Error()) {
			t.Errorf("det-deploy says %v, Helm %v", err, refused)
		}
		return
	}
	if notes := files["determined/templates/NOTES.txt"]; ours.Notes != notes {
		t.Errorf("got notes %q, want %q", ours.Notes, notes)
	}
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, "NOTES.txt") })
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range manifests {
		want = append(want, m.Name+"\n"+strings.TrimSpace(m.Content))
	}
	for _, h := range hooks {
		want = append(want, h.Path+"\n"+strings.TrimSpace(h.Manifest))
	}
	for _, o := range ours.Objects {
		got = append(got, o.Source+"\n"+strings.TrimSpace(o.YAML))
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("det-deploy has -, Helm has +:\n%s", d)
	}
}

// manifest returns all applied objects, in the order of the files.
func manifest(files map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") || strings.TrimSpace(files[name]) == "" {
			continue
		}
		b.WriteString("---\n# " + name + "\n" + tidy(files[name]) + "\n")
	}
	return b.String()
}

// tidy removes the empty lines that templates leave.
func tidy(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
