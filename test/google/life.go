package googletest

import (
	"testing"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// Libraries are Google's libraries for Python that know Compute Engine.
func Libraries() []string { return []string{"google-cloud-compute", "google-api-python-client"} }

// Live has a library make, change and remove a machine in a zone, and returns what each
// step came to. Zone b of the region is to have no machines of type n1-standard-4.
func Live(t testing.TB, s Site, library, zone string) (out map[string]any) {
	t.Helper()
	program{script: "live.py", args: []string{library, s.URL, gcptest.Project, zone, s.Token}}.runScript(t, &out)
	return out
}
