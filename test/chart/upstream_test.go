package chart_test

import (
	"encoding/base64"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/det-deploy/det-deploy/master/config/helm"
)

var handed = regexp.MustCompile(`values.yaml: "([^"]+)"`)

// The master can read the configuration that the chart renders, also from unchanged values files of
// users of Determined 0.38.1.
func TestMasterReadsChartValues(t *testing.T) {
	t.Parallel()
	documents := []string{"../../docs/examples/values-k8s.yaml"}
	for _, kind := range append(kinds(), "upstream") {
		documents = append(documents, "testdata/"+kind+".values.yaml")
	}
	for _, file := range documents {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			files, err := render(t, release{name: "lab", namespace: "ml", values: parse(t, read(t, file))})
			if err != nil {
				t.Fatal(err)
			}
			m := handed.FindStringSubmatch(files["determined/templates/config.yaml"])
			if m == nil {
				t.Fatalf("got %s, want a document", files["determined/templates/config.yaml"])
			}
			raw, err := base64.StdEncoding.DecodeString(m[1])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := helm.Read(raw, "values.yaml", nil); err != nil {
				t.Error(err)
			}
		})
	}
}
