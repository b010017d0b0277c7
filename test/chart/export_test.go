package chart_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/det-deploy/det-deploy/templates"
)

// export writes the chart to a directory, for plain Helm.
func export(t *testing.T, version string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "determined")
	if err := os.CopyFS(dir, templates.Chart(version)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnExportedChartPassesHelmLint(t *testing.T) {
	t.Parallel()
	dir := export(t, version)
	for _, kind := range kinds() {
		values := map[string]any{"imageRegistry": images}
		maps.Copy(values, parse(t, read(t, filepath.Join("testdata", kind+".values.yaml"))))
		for _, m := range lint.All(dir, values, "ml", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", kind, m)
			}
		}
	}
}

func TestAnExportedChartHasTheVersionsOfItsProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, version, chart, app string }{
		{"a release", "v1.2.3", "1.2.3", "v1.2.3"},
		{"a release to come", "v1.3.0-rc.1", "1.3.0-rc.1", "v1.3.0-rc.1"},
		{"a checkout", "dev-1a2b3c4d-modified", "0.0.0-dev-1a2b3c4d-modified", "dev-1a2b3c4d-modified"},
		{"a commit", "39f5379", "0.0.0-39f5379", "39f5379"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := loader.LoadDir(export(t, tt.version))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Validate(); err != nil {
				t.Error(err)
			}
			if c.Metadata.Version != tt.chart || c.Metadata.AppVersion != tt.app {
				t.Errorf("got versions %q, %q, want %q, %q", c.Metadata.Version, c.Metadata.AppVersion, tt.chart, tt.app)
			}
		})
	}
}
