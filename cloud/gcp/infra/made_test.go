package infra_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	edgetest "github.com/det-deploy/det-deploy/test/contract/edge"
)

// unmade are the calls that only tests make: no disk is taken off a machine, and a snapshot
// keeps the labels that it was made with.
func unmade() []string {
	return []string{"compute.instances.detachDisk", "compute.snapshots.setLabels"}
}

// A call that nothing makes any more must not stay in the table, and so granted; and one that is
// not in the table fails when it is made.
func TestTheTableHasTheCallsThatAreMade(t *testing.T) {
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

// madeCall is a call in Go, by the clients of a service: "c.Compute.Networks.Get(".
var madeCall = regexp.MustCompile(`\.(?:Compute|Storage|IAM\.Projects|Resources|Secrets\.Projects|Secrets\.Projects\.Secrets|Usage|OrgPolicy\.Projects|Logging|Logging\.Projects|Monitoring\.Projects)\.(\w+\.[A-Z]\w+\()`)

// formsOf is how a call looks in Go: as a method of its client, or of a variable that has it.
func formsOf(op string) []string {
	parts := strings.Split(op, ".")
	collection, verb := parts[len(parts)-2], parts[len(parts)-1]
	method := strings.ToUpper(verb[:1]) + verb[1:] + "("
	return []string{strings.ToUpper(collection[:1]) + collection[1:] + "." + method, strings.TrimPrefix(collection, "service") + "." + method, strings.ToLower(strings.TrimPrefix(collection, "service")) + "." + method}
}
