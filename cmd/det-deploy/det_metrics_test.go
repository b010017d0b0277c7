package main

import (
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/test/dettest"
)

// TestMetricsOfTheSDK reports metrics with the unmodified harness and reads them with all functions
// of the unmodified SDK.
func TestMetricsOfTheSDK(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a master; run without -short")
	}
	c := newCluster(t, clusterConfig{})
	c.StartMaster()
	out, err := dettest.New(t, c.URL).Python(filepath.Join("testdata", "det", "metrics.py"), c.URL, password,
		"name: one\nentrypoint: 'true'\nsearcher: {name: single, metric: loss}\n"+
			"checkpoint_storage: {type: directory, container_path: /checkpoints}\nresources: {slots_per_trial: 0}\n").CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, tail(out, 4000))
	}
}
