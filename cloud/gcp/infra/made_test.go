package infra_test

import (
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

// A call that nothing makes any more must not stay in the table, and so granted.
func TestEveryCallIsMade(t *testing.T) {
	t.Parallel()
	source := edgetest.Source(t, "../../..", []string{"cloud/gcp/infra", "cloud/gcp/facts", "cloud/gcp/fleet", "cloud/gcp/attest", "cloud/gcp/log", "cloud/gcp/machine", "installer/target/gcp", "cmd/internal/wire/gcp"}, nil)
	edgetest.CheckMade(t, api.Calls(), source, unmade(), formsOf)
}

// formsOf is how a call looks in Go: as a method of its clients, of a variable that holds
// these, or as part of a collection that is handed on.
func formsOf(op string) []string {
	parts := strings.Split(op, ".")
	collection, verb := parts[len(parts)-2], parts[len(parts)-1]
	special := map[string]string{
		"compute.instances.getSerialPortOutput": "Machines.SerialPort", "compute.instances.getGuestAttributes": "Machines.GuestAttribute",
		"compute.zoneOperations.list": "Machines.Operations", "logging.entries.list": "Logs.Page", "logging.entries.write": "logs.Write",
		"monitoring.projects.timeSeries.create": "metrics.Write", "storage.objects.get": "Objects.Read", "storage.objects.list": "Objects.Versions", "storage.objects.insert": "Objects.Write",
		"compute.projects.get": "Catalog.Project", "compute.regions.get": "Catalog.Region(", "compute.regions.list": "Catalog.Regions", "compute.zones.list": "Catalog.Zones",
		"compute.machineTypes.list": "Catalog.MachineTypes", "compute.acceleratorTypes.list": "Catalog.AcceleratorTypes", "compute.routes.list": "Catalog.Routes",
		"compute.images.get": "Catalog.Image\n", "compute.images.getFromFamily": "Catalog.ImageFamily", "serviceusage.services.batchGet": "Services.Get",
		"serviceusage.services.batchEnable": "Services.Enable", "orgpolicy.projects.policies.getEffectivePolicy": "Constraints.Get",
	}[op]
	switch {
	case special != "":
		return []string{special}
	case strings.HasSuffix(collection, "Operations"):
		return []string{"Insert(ctx"} // every change waits for its operation
	}
	method := map[string]string{
		"aggregatedList": "List", "getIamPolicy": "GetPolicy", "setIamPolicy": "SetPolicy", "setPrivateIpGoogleAccess": "SetPrivateAccess",
		"expandIpCidrRange": "Expand", "addVersion": "Add", "testIamPermissions": "TestPermissions",
	}[verb]
	if method == "" {
		method = strings.ToUpper(verb[:1]) + verb[1:]
	}
	if collection == "versions" {
		collection, method = "secrets", map[string]string{"access": "Read", "list": "Versions", "destroy": "Destroy"}[verb]
	}
	client := map[string]string{"serviceAccounts": "Accounts"}[collection]
	if client == "" {
		client = strings.ToUpper(collection[:1]) + collection[1:]
	}
	out := []string{client + "." + method, strings.ToLower(client) + "." + method}
	if method == "Get" || method == "List" || method == "Delete" {
		out = append(out, client+".Collection")
	}
	return out
}
