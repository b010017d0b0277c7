package gcptest_test

import (
	"testing"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/option"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// BenchmarkCheckedCalls inserts an instance, waits for it, reads and deletes it: four calls whose
// requests and responses are validated against the discovery documents.
func BenchmarkCheckedCalls(b *testing.B) {
	w := gcptest.New(b, gcptest.Options{})
	c, err := compute.NewService(b.Context(), option.WithHTTPClient(w.Client("")))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o, err := c.Instances.Insert(project, zoneB, launch("one", nil)).Do()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.ZoneOperations.Wait(project, zoneB, o.Name).Do(); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Instances.Get(project, zoneB, "one").Do(); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Instances.Delete(project, zoneB, "one").Do(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(4*b.N)/b.Elapsed().Seconds(), "calls/s")
}
