package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/dockertest"
	"github.com/det-deploy/det-deploy/test/jupyter"
	"github.com/det-deploy/det-deploy/test/rest"
)

// TestNotebookInAContainer starts JupyterLab in a container of Docker with a network of its own. The image has
// a shell only: Python comes from this machine.
func TestNotebookInAContainer(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	settings := jupyter.Settings(t)
	docker := dockertest.Start(t)
	c := newCluster(t, clusterConfig{
		Env:    []string{"DOCKER_HOST=" + docker.Host},
		Master: "task_container_defaults:\n  network_mode: none\n  image: " + dockertest.Image + "\n",
		Agent:  "container_runtime: docker\nartificial_slots: 1\n",
	})
	c.StartMaster()
	c.StartAgent("a")
	for _, dir := range []string{"/usr", "/lib", "/lib64"} {
		if _, err := os.Stat(dir); err == nil {
			settings = strings.Replace(settings, "bind_mounts: [", fmt.Sprintf("bind_mounts: [{host_path: %[1]s, container_path: %[1]s, read_only: true}, ", dir), 1)
		}
	}
	config := filepath.Join(t.TempDir(), "notebook.yaml")
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := dettest.Login(t, c.URL, "admin", password)
	out, err := admin.Exec("", "notebook", "start", "--no-browser", "--config-file", config)
	if err != nil {
		t.Fatalf("got %v and %s\n%s, want the address of the notebook", err, out, admin.OK("", "notebook", "logs", taskID.FindString(out)))
	}
	p := jupyter.Open(t, jupyter.Address(t, out))
	p.Use()
	p.CheckSecrets()
}
