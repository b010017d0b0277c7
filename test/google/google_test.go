package googletest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	googletest "github.com/det-deploy/det-deploy/test/google"
)

// Google's libraries create, update and delete an instance of the fake Google Cloud, and get the
// same errors as from Google.
func TestLifecycleByGoogleLibraries(t *testing.T) {
	t.Parallel()
	for _, library := range googletest.Libraries() {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			w := gcptest.New(t, gcptest.Options{})
			w.StockOut("us-west1-b", "n1-standard-4", -1)
			got := googletest.Live(t, googletest.Serve(t, w), library, "us-west1-a")
			if d := cmp.Diff(got, map[string]any{
				"the same request again": true, "insert": []any{"DONE"}, "a name that is taken": 409.0,
				"no machines": []any{"ZONE_RESOURCE_POOL_EXHAUSTED"}, "left by it": 404.0, "status": "RUNNING", "market": "SPOT",
				"set labels": []any{"DONE"}, "labels": map[string]any{"det-deploy-cluster": "lab", "team": "vision"},
				"labels of another time": 412.0, "delete": []any{"DONE"}, "after it": 404.0,
			}); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

// shown is the output of gcloud for an object.
type shown struct {
	Name   string            `json:"name"`
	Status string            `json:"status"`
	Labels map[string]string `json:"labels"`
}

func TestLifecycleByGcloud(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	s := googletest.Serve(t, w)
	compute := func(args ...string) {
		t.Helper()
		var printed any
		googletest.Gcloud(t, s, &printed, append([]string{"compute"}, args...)...)
	}
	compute("networks", "create", "own", "--subnet-mode=custom")
	compute("networks", "subnets", "create", "own-west", "--network=own", "--region=us-west1", "--range=10.7.0.0/20")
	compute("firewall-rules", "create", "own-ssh", "--network=own", "--allow=tcp:22", "--target-tags=own")
	compute("disks", "create", "data", "--zone=us-west1-b", "--size=200", "--type=pd-balanced", "--labels=det-deploy-cluster=lab")
	compute("instances", "create", "one", "--zone=us-west1-b", "--machine-type=n1-standard-4", "--subnet=own-west", "--no-address",
		"--accelerator=type=nvidia-tesla-t4,count=1", "--provisioning-model=SPOT", "--maintenance-policy=TERMINATE", "--disk=name=data,mode=ro",
		"--image="+gcptest.ImageUbuntu, "--labels=det-deploy-cluster=lab", "--no-service-account", "--no-scopes")
	compute("instances", "add-labels", "one", "--zone=us-west1-b", "--labels=team=vision")
	var got []shown
	googletest.Gcloud(t, s, &got, "compute", "instances", "list", "--filter=labels.team=vision")
	want := []shown{{Name: "one", Status: "RUNNING", Labels: map[string]string{"det-deploy-cluster": "lab", "team": "vision"}}}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	compute("instances", "delete", "one", "--zone=us-west1-b")
	compute("disks", "delete", "data", "--zone=us-west1-b")
	compute("firewall-rules", "delete", "own-ssh")
	compute("networks", "subnets", "delete", "own-west", "--region=us-west1")
	compute("networks", "delete", "own")
	if left := w.Live(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
