package chart_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// kinds are the clusters that golden files exist of.
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
			compare(t, kind+".golden", manifest(files))
			compare(t, kind+".notes.golden", files["determined/templates/NOTES.txt"])
		})
	}
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(got, read(t, path)); diff != "" {
		t.Errorf("%s (-got +want), run with -update when this is meant:\n%s", name, diff)
	}
}
