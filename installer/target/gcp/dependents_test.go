package gcp_test

import (
	"strings"
	"testing"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/installer/event"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func TestDownReportsObjectsInSubnetwork(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.Up(t.Context()))
		c := s.clients(nil)
		must(t, api.Run(t.Context(), c, c.Compute.Instances.Insert(c.Project, "us-central1-a", &compute.Instance{
			Name: "crawler", MachineType: "zones/us-central1-a/machineTypes/n2-standard-2",
			Disks: []*compute.AttachedDisk{{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{
				SourceImage: "projects/debian-cloud/global/images/family/debian-12",
			}}},
			NetworkInterfaces: []*compute.NetworkInterface{{Subnetwork: "regions/us-central1/subnetworks/det-lab-us-central1"}},
		})))

		want := "gcloud compute instances delete crawler --project " + gcptest.Project + " --zone us-central1-a"
		if err := s.DownWhileHeld(t); event.Hint(err) != want+"; then run the same command again" || !strings.Contains(err.Error(), "instances/crawler'") {
			t.Errorf("got %v with the hint %q, want what holds it", err, event.Hint(err))
		}
		for _, left := range s.world.Live() {
			if !strings.HasPrefix(left, "projects/acme-ml/global/networks") && !strings.Contains(left, "/subnetworks/") && !strings.Contains(left, "crawler") && !strings.HasPrefix(left, "buckets/") {
				t.Errorf("%s is left, which nothing holds", left)
			}
		}

		must(t, api.Run(t.Context(), c, c.Compute.Instances.Delete(c.Project, "us-central1-a", "crawler")))
		_, err := s.Down(t.Context(), true)
		must(t, err)
		if left := s.world.Live(); len(left) > 0 {
			t.Errorf("got left %v", left)
		}
	})
}
