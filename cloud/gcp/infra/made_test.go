package infra_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	edgetest "github.com/det-deploy/det-deploy/test/contract/edge"
)

// unmade returns the calls that only tests make: the installer never detaches disks or changes the
// labels of snapshots.
func unmade() []string {
	return []string{"compute.instances.detachDisk", "compute.snapshots.setLabels"}
}

// Calls that are no longer made must not remain in the table, because their permissions would still
// be granted; calls that are not in the table fail at run time.
func TestTableMatchesCalls(t *testing.T) {
	t.Parallel()
	source := edgetest.Source(t, "../../..", []string{"cloud/gcp", "installer/target/gcp", "cmd/internal/wire"}, nil)
	edgetest.CheckMade(t, api.Calls(), source, unmade(), formsOf)
	var listed []string
	for _, c := range api.Calls() {
		listed = append(listed, formsOf(c.Op)[0])
	}
	for _, m := range madeCall.FindAllStringSubmatch(source, -1) {
		if !slices.Contains(listed, m[1]) {
			t.Errorf("%s): the call is made, and is not in the table of calls", m[1])
		}
	}
}

// madeCall matches a call of a service client in Go: "c.Compute.Networks.Get(".
var madeCall = regexp.MustCompile(`\.(?:Compute|Storage|IAM\.Projects|Resources|Secrets\.Projects|Secrets\.Projects\.Secrets|Usage|OrgPolicy\.Projects|Logging|Logging\.Projects|Monitoring\.Projects)\.(\w+\.[A-Z]\w+\()`)

// formsOf returns the forms of a call in Go: as a method of its client, or of a variable that holds
// the client.
func formsOf(op string) []string {
	parts := strings.Split(op, ".")
	collection, verb := parts[len(parts)-2], parts[len(parts)-1]
	method := strings.ToUpper(verb[:1]) + verb[1:] + "("
	return []string{strings.ToUpper(collection[:1]) + collection[1:] + "." + method, strings.TrimPrefix(collection, "service") + "." + method, strings.ToLower(strings.TrimPrefix(collection, "service")) + "." + method}
}
