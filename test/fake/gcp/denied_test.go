package gcptest_test

import (
	"testing"

	"google.golang.org/api/compute/v1"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// Only a caller with the permission in a project learns that a bucket does not exist.
func TestMissingBucketIsDeniedWithoutPermission(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	const ann = "user:ann@example.com"
	hers := clientsOf(t, w, gcptest.Caller{Member: ann})
	_, err := hers.storage.Buckets.Get("nobodys").Do()
	wantStatus(t, err, 403, "forbidden")
	_, err = hers.storage.Objects.Get("nobodys", "x").Do()
	wantStatus(t, err, 403, "forbidden")
	w.Bind(parent, "roles/storage.bucketViewer", ann)
	_, err = hers.storage.Buckets.Get("nobodys").Do()
	wantStatus(t, err, 404, "notFound")
	_, err = c.storage.Objects.Get("nobodys", "x").Do()
	wantStatus(t, err, 404, "notFound")
}

func TestPerimeterClosesAPI(t *testing.T) {
	t.Parallel()
	w, c := newWorld(t, gcptest.Options{})
	w.Enclose(project, "storage.googleapis.com")
	_, err := c.storage.Buckets.List(project).Do()
	wantStatus(t, err, 403, "forbidden")
	made[*compute.ZoneList](t)(c.compute.Zones.List(project).Do())
}
