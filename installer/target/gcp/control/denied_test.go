package control_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// expired adds an invalid token to each request.
type expired struct{ http.RoundTripper }

func (e expired) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer expired")
	return e.RoundTripper.RoundTrip(r)
}

// A bucket that cannot be read is not called taken unless the caller may read buckets of the project.
func TestDeniedReadsAreExplained(t *testing.T) {
	t.Parallel()
	const (
		noRights = "grant your account storage.buckets.get"
		taken    = "choose another --cluster-id"
	)
	viewer := func(w *gcptest.World, member string) { w.Bind("projects/"+gcptest.Project, "roles/viewer", member) }
	for _, tc := range []struct {
		name       string
		prepare    func(t *testing.T, w *gcptest.World, member string)
		expired    bool
		want, wont string
	}{
		{"no permission", nil, false, noRights, taken},
		{"no permission, and the name is taken", func(t *testing.T, w *gcptest.World, _ string) { takeName(t, w) }, false, noRights, taken},
		{"the name is taken", func(t *testing.T, w *gcptest.World, member string) { takeName(t, w); viewer(w, member) }, false, taken, noRights},
		{"permissions cannot be tested", func(_ *testing.T, w *gcptest.World, _ string) {
			w.Disable(gcptest.Project, "cloudresourcemanager.googleapis.com")
		}, false, "permission storage.buckets.get in project acme-ml, or choose another --cluster-id", ""},
		{"a perimeter", func(t *testing.T, w *gcptest.World, member string) {
			viewer(w, member)
			must(t, control.Open(clients(t, w.Client(""), gcptest.Project), "lab", gcptest.Number).Make(t.Context()))
			w.Enclose(gcptest.Project, "storage.googleapis.com")
		}, false, "VPC Service Controls", taken},
		{"credentials that have expired", nil, true, "gcloud auth application-default login", taken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := gcptest.New(t, gcptest.Options{})
			member := "serviceAccount:" + w.GiveAccount(gcptest.Project, "installer")
			if tc.prepare != nil {
				tc.prepare(t, w, member)
			}
			client := w.Client(member)
			if tc.expired {
				client.Transport = expired{client.Transport}
			}
			_, err := control.Open(clients(t, client, gcptest.Project), "lab", gcptest.Number).Get(t.Context(), record.Key)
			e, ok := errors.AsType[*cloud.Error](err)
			if !ok || e.Kind != cloud.Denied || !strings.Contains(e.Hint(), tc.want) || tc.wont != "" && strings.Contains(e.Hint(), tc.wont) {
				t.Errorf("got %v, want it denied with the hint %q and not %q", err, tc.want, tc.wont)
			}
		})
	}
}

// takeName creates a bucket with the name of the cluster's in another project.
func takeName(t *testing.T, w *gcptest.World) {
	t.Helper()
	w.AddProject("others", 99)
	in := &storage.Bucket{Name: control.Name("lab", gcptest.Number), Location: "us-central1"}
	must(t, api.Send(t.Context(), clients(t, w.Client(""), "others").Storage.Buckets.Insert("others", in)))
}
