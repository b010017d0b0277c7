package facts_test

import (
	"path"
	"testing"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func TestImagesByPathFamilyAndName(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	w.GiveImage(gcptest.Project, "ours-1", "ours", 40)
	f := of(t, w)
	for link, want := range map[string]string{
		gcptest.ImageDebian: gcptest.ImageDebian,
		"https://www.googleapis.com/compute/v1/" + gcptest.ImageDebian: gcptest.ImageDebian,
		"projects/debian-cloud/global/images/family/debian-12":         gcptest.ImageDebian,
		"ours-1":                    "projects/" + gcptest.Project + "/global/images/ours-1",
		"global/images/family/ours": "projects/" + gcptest.Project + "/global/images/ours-1",
		"projects/" + gcptest.Project + "/global/images/family/ours": "projects/" + gcptest.Project + "/global/images/ours-1",
	} {
		got, err := f.Image(t.Context(), link)
		if err != nil || got.ID != want {
			t.Errorf("%s: got %+v and %v, want %s", link, got, err, want)
		}
	}
	if got, err := f.Image(t.Context(), gcptest.ImageARM); err != nil || got.Architecture != "arm64" || got.Size != 10 {
		t.Errorf("got %+v and %v, want one for arm64 of 10 GB", got, err)
	}
	_, err := f.Image(t.Context(), "nobodys")
	wantRefusal(t, err, cloud.NotFound, "nobodys")
}

func TestObsoleteImages(t *testing.T) {
	t.Parallel()
	for state, kind := range map[string]cloud.Kind{"DEPRECATED": "", "OBSOLETE": cloud.Invalid, "DELETED": cloud.Invalid} {
		w := gcptest.New(t, gcptest.Options{})
		w.GiveImage(gcptest.Project, "ours-1", "ours", 40)
		w.WithdrawImage(gcptest.Project, "ours-1", &compute.DeprecationStatus{State: state, Replacement: "projects/x/global/images/ours-2"})
		f := of(t, w)
		got, err := f.Image(t.Context(), "ours-1")
		if kind != "" {
			wantRefusal(t, err, kind, "it is obsolete; its replacement is ours-2")
		} else if err != nil || got.Replaced == "" {
			t.Errorf("%s: got %+v and %v, want it reported", state, got, err)
		}
		_, err = f.Image(t.Context(), "global/images/family/ours")
		wantRefusal(t, err, cloud.NotFound, "")
	}
}

func TestTheNewestStock(t *testing.T) {
	t.Parallel()
	f := of(t, gcptest.New(t, gcptest.Options{}))
	for _, tc := range []struct {
		stock       facts.Stock
		arch, image string
	}{
		{facts.MasterStock(), "amd64", gcptest.ImageMaster},
		{facts.MasterStock(), "arm64", gcptest.ImageMasterARM},
		{facts.AgentStock(), "amd64", gcptest.ImageAgent},
		{facts.Stock{What: "x", Project: "debian-cloud", Families: map[string][]string{"amd64": {"debian-99", "debian-12"}}}, "amd64", gcptest.ImageDebian},
	} {
		got, err := f.Newest(t.Context(), tc.stock, tc.arch)
		if err != nil || got.ID != tc.image {
			t.Errorf("%s for %s: got %+v and %v, want %s", tc.stock.What, tc.arch, got, err, tc.image)
		}
	}
	older := gcptest.New(t, gcptest.Options{})
	older.WithdrawImage("deeplearning-platform-release", path.Base(gcptest.ImageAgent), &compute.DeprecationStatus{State: "OBSOLETE"})
	if got, err := of(t, older).Newest(t.Context(), facts.AgentStock(), "amd64"); err != nil || got.ID != gcptest.ImageOldAgent {
		t.Errorf("without an image of Ubuntu 24.04: got %+v and %v, want %s", got, err, gcptest.ImageOldAgent)
	}
	_, err := f.Newest(t.Context(), facts.AgentStock(), "arm64")
	wantRefusal(t, err, cloud.NotFound, "none found for arm64")
}
