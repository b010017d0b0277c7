package main

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/dettest"
)

// TestRegistryOfTheSDK fills and empties a workspace with the unmodified SDK.
func TestRegistryOfTheSDK(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterConfig{Master: "checkpoint_storage: {type: directory, container_path: /tmp}\n"})
	c.StartMaster()
	cl := dettest.Login(t, c.URL, "admin", password)
	cl.OK("", "workspace", "create", "registry")
	if out, err := cl.Python("testdata/det/registry.py", password).CombinedOutput(); err != nil || !strings.Contains(string(out), "all is well") {
		t.Errorf("%v\n%s", err, out)
	}
	cl.Want([]string{"workspace", "delete", "registry", "--yes"}, "deleted")
}
