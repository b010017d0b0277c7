package chart_test

import (
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/test/golden"
)

// kinds returns the kinds of clusters with golden files.
func kinds() []string { return []string{"gpu", "cpu", "embedded", "external", "tasks-elsewhere"} }

func TestRenderedCharts(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			files, err := render(t, release{name: "lab", namespace: "ml", values: parse(t, read(t, filepath.Join("testdata", kind+".values.yaml")))})
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+kind+".golden", manifest(files))
			golden.Compare(t, "testdata/"+kind+".notes.golden", files["determined/templates/NOTES.txt"])
		})
	}
}
