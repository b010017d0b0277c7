package facts_test

import (
	"net/http"
	"testing"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func giveDisk(t *testing.T, f facts.Facts, zone, name string, gb int64) {
	t.Helper()
	must(t, api.Run(t.Context(), f.Clients, f.Clients.Compute.Disks.Insert(f.Clients.Project, zone, &compute.Disk{Name: name, SizeGb: gb, Type: "projects/" + gcptest.Project + "/zones/" + zone + "/diskTypes/pd-balanced"})))
}

func TestAnExistingDisk(t *testing.T) {
	t.Parallel()
	f := of(t, gcptest.New(t, gcptest.Options{}))
	giveDisk(t, f, "us-central1-b", "mine", 200)
	giveDisk(t, f, "europe-west4-a", "mine", 200)
	zone, err := f.DiskZone(t.Context(), "mine")
	if zone != "us-central1-b" || err != nil {
		t.Errorf("got %q and %v, want us-central1-b", zone, err)
	}
	must(t, f.DiskFree(t.Context(), "mine", "lab"))

	giveDisk(t, f, "us-central1-c", "mine", 200)
	_, err = f.DiskZone(t.Context(), "mine")
	wantRefusal(t, err, cloud.Invalid, "it exists in us-central1-")
	_, err = f.DiskZone(t.Context(), "nobodys")
	wantRefusal(t, err, cloud.NotFound, "does not exist in any zone of us-central1")
}

func TestARegionalDiskIsRefused(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	w.GiveRegionalDisk(gcptest.Project, "us-central1", "mirrored", 200)
	_, err := of(t, w).DiskZone(t.Context(), "mirrored")
	wantRefusal(t, err, cloud.Invalid, "it is a regional disk")
}

func TestDiskAttachedElsewhere(t *testing.T) {
	t.Parallel()
	f := of(t, gcptest.New(t, gcptest.Options{}))
	giveDisk(t, f, "us-central1-b", "mine", 200)
	const zone = "projects/" + gcptest.Project + "/zones/us-central1-b/"
	must(t, api.Run(t.Context(), f.Clients, f.Clients.Compute.Instances.Insert(f.Clients.Project, "us-central1-b", &compute.Instance{
		Name: "other", MachineType: zone + "machineTypes/n2-standard-2", Labels: map[string]string{"det-deploy-cluster": "lab"},
		Disks:             []*compute.AttachedDisk{{Boot: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageDebian}}, {Source: zone + "disks/mine"}},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
	})))
	wantRefusal(t, f.DiskFree(t.Context(), "mine", "lab-2"), cloud.Invalid, "attached to other")
	must(t, f.DiskFree(t.Context(), "mine", "lab"))
}

func TestSnapshotFits(t *testing.T) {
	t.Parallel()
	f := of(t, gcptest.New(t, gcptest.Options{}))
	giveDisk(t, f, "us-central1-b", "mine", 200)
	must(t, api.Run(t.Context(), f.Clients, f.Clients.Compute.Snapshots.Insert(f.Clients.Project, &compute.Snapshot{Name: "older", SourceDisk: "projects/" + gcptest.Project + "/zones/us-central1-b/disks/mine"})))
	must(t, f.SnapshotFits(t.Context(), "older", 200))
	wantRefusal(t, f.SnapshotFits(t.Context(), "older", 100), cloud.Invalid, "it has 200 GB")
	wantRefusal(t, f.SnapshotFits(t.Context(), "nobodys", 100), cloud.NotFound, "")
	f = edit(t, gcptest.New(t, gcptest.Options{}), edited{"/compute/v1/projects/" + gcptest.Project + "/global/snapshots/older": func(string) (int, string) {
		return http.StatusOK, `{"name":"older","status":"UPLOADING"}`
	}})
	wantRefusal(t, f.SnapshotFits(t.Context(), "older", 100), cloud.Invalid, "its state is UPLOADING")
}

func TestAnExistingAccount(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	w.AddProject("robots", 77)
	f := of(t, w)
	for _, email := range []string{w.GiveAccount(gcptest.Project, "boss"), w.GiveAccount("robots", "boss"), facts.DefaultAccount(gcptest.Number)} {
		must(t, f.AccountFit(t.Context(), email))
		missing, err := f.MissingOnAccount(t.Context(), email, []string{"iam.serviceAccounts.actAs"})
		if len(missing) > 0 || err != nil {
			t.Errorf("%s: got %v and %v, want the owner to be allowed", email, missing, err)
		}
	}
	wantRefusal(t, f.AccountFit(t.Context(), "nobody@"+gcptest.Project+".iam.gserviceaccount.com"), cloud.NotFound, "")
}
