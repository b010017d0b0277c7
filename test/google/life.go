package googletest

import (
	"testing"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// Libraries returns Google's Python libraries for Compute Engine.
func Libraries() []string { return []string{"google-cloud-compute", "google-api-python-client"} }

// Live creates, updates and deletes an instance in a zone with a library, and returns the result of
// each step. Zone b of the region must lack capacity for n1-standard-4.
func Live(t testing.TB, s Site, library, zone string) (out map[string]any) {
	t.Helper()
	program{script: "live.py", args: []string{library, s.URL, gcptest.Project, zone, s.Token}}.runScript(t, &out)
	return out
}
