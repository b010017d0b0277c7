package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/test/dettest"
)

// TestMetricsOfTheSDK reports with the calls of the unmodified harness and reads with all
// that the unmodified SDK has for metrics.
func TestMetricsOfTheSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a master; run without -short")
	}
	python := filepath.Join(dettest.Home(t), "bin", "python3")
	c := newCluster(t, clusterConfig{})
	c.StartMaster()
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "det", "metrics.py"), c.URL, password,
		"name: one\nentrypoint: 'true'\nsearcher: {name: single, metric: loss}\n"+
			"checkpoint_storage: {type: directory, container_path: /checkpoints}\nresources: {slots_per_trial: 0}\n")
	cmd.Env = append(c.Env, "HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, tail(out, 4000))
	}
}
