package infra_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	googletest "github.com/det-deploy/det-deploy/test/google"
)

// addForeign adds objects beside the cluster: the cluster lab-2, and an instance of the user with a
// pool's label.
func (s *stage) addForeign(t *testing.T) {
	t.Helper()
	other := newStage(t, gcptest.Options{})
	other.world, other.id = s.world, "lab-2"
	must(t, other.up(t.Context()))
	c := s.clients(t)
	must(t, api.Run(t.Context(), c, c.Compute.Instances.Insert(c.Project, "us-central1-a", &compute.Instance{
		Name: "own", MachineType: "zones/us-central1-a/machineTypes/n2-standard-2", Labels: map[string]string{"managed-by": "lab"},
		Disks:             []*compute.AttachedDisk{{Boot: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageUbuntu}}},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
	})))
}

// Google's clients find exactly the objects of the cluster by its mark.
func TestGoogleClientsListCluster(t *testing.T) {
	t.Parallel()
	s := newStage(t, gcptest.Options{Page: 2})
	must(t, s.up(t.Context()))
	s.addForeign(t)
	site := googletest.Serve(t, s.world)
	for _, c := range googletest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			want := slices.DeleteFunc(slices.Clone(whole), func(f string) bool {
				kind, _, _ := strings.Cut(f, "/")
				return !slices.Contains(c.Kinds, kind)
			})
			if d := cmp.Diff(c.Owned(t, "lab", site)[0], want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}
