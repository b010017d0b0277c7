package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/dettest"
)

// TestDetWorkspaces has the unmodified client make, fill and delete workspaces and projects,
// and use templates.
func TestDetWorkspaces(t *testing.T) {
	c := newCluster(t, clusterConfig{
		Master: "checkpoint_storage: {type: directory, container_path: /tmp}\n",
		Agent:  "container_runtime: process\ntrust_users: true\n",
	})
	c.StartMaster()
	c.StartAgent("a")
	admin := dettest.Login(t, c.URL, "admin", password)
	t.Run("templates", func(t *testing.T) { detTemplates(t, admin.On(t)) })
	t.Run("the SDK", func(t *testing.T) { detRegistry(t, admin.On(t)) })
	t.Run("projects", func(t *testing.T) { detProjects(t, admin.On(t)) })
}

// writeFile writes a file of the test.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func detTemplates(t *testing.T, cl *dettest.Client) {
	t.Helper()
	file := writeFile(t, "template.yaml", "resources: {slots: 0}\nmax_restarts: 1\nenvironment:\n  environment_variables: [SHOULDBE=SET]\n")
	cl.Want([]string{"template", "create", "base", file}, "Created template base")
	cl.Want([]string{"template", "describe", "base"}, "SHOULDBE=SET", "max_restarts: 1")
	cl.Want([]string{"command", "run", "--template", "base", "echo it is $SHOULDBE"},
		"it is SET", "of template 'base' has no effect on commands: max_restarts")
	cl.Want([]string{"template", "remove", "base"}, "Removed template base")
}

func detProjects(t *testing.T, cl *dettest.Client) {
	t.Helper()
	cl.Want([]string{"workspace", "create", "lab"}, "lab")
	cl.Want([]string{"project", "create", "lab", "vision"}, "VIS")
	cl.Want([]string{"command", "run", "-w", "lab", "--detach", "--config", "resources.slots=0", "sleep 1000"})
	cl.Want([]string{"command", "list", "-w", "lab"}, "lab")
	config := writeFile(t, "experiment.yaml", "name: tiny\nworkspace: lab\nproject: vision\nentrypoint: [\"true\"]\n"+
		"searcher: {name: single, metric: loss}\nresources: {slots_per_trial: 0}\n")
	cl.Want([]string{"experiment", "create", config, "--paused"}, "Created experiment 1")
	cl.Want([]string{"project", "describe", "lab", "vision"}, "tiny", "PAUSED")
	var projects []struct {
		Experiments int `json:"numExperiments"`
	}
	out := cl.OK("", "project", "list", "lab", "--json")
	if err := json.Unmarshal([]byte(out), &projects); err != nil || len(projects) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if projects[0].Experiments != 1 {
		t.Errorf("the project has %d experiments: %s", projects[0].Experiments, out)
	}
	cl.Want([]string{"project", "delete", "lab", "vision", "--yes"}, "deleted")
	cl.Refused([]string{"experiment", "describe", "1"}, "not found")
	cl.Want([]string{"workspace", "delete", "lab", "--yes"}, "deleted")
	cl.Want([]string{"command", "list", "-a"}, "TERMINAT")
}

// detRegistry runs a program that uses the SDK.
func detRegistry(t *testing.T, cl *dettest.Client) {
	t.Helper()
	cl.OK("", "workspace", "create", "registry")
	if out, err := cl.Python("testdata/det/registry.py", password).CombinedOutput(); err != nil || !strings.Contains(string(out), "all is well") {
		t.Errorf("%v\n%s", err, out)
	}
	cl.Want([]string{"workspace", "delete", "registry", "--yes"}, "deleted")
}
