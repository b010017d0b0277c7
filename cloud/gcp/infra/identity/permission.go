package identity

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// launchCalls are those that a master makes about the machines of its pools.
func launchCalls() []string {
	return []string{
		"compute.instances.insert", "compute.instances.delete", "compute.instances.get", "compute.instances.aggregatedList",
		"compute.instances.getSerialPortOutput", "compute.instances.getGuestAttributes",
		"compute.zoneOperations.wait", "compute.zoneOperations.list",
	}
}

// onlyLaunching are the calls that a master alone makes.
func onlyLaunching() []string {
	return []string{"compute.instances.getSerialPortOutput", "compute.instances.getGuestAttributes", "compute.zoneOperations.list"}
}

// reportCalls are those by which a machine sends its journal and its use.
func reportCalls() []string {
	return []string{"logging.entries.write", "monitoring.projects.timeSeries.create"}
}

// MasterPermissions are what a master needs in the project to launch machines, and its
// machine to report. Which account these may have, and what a master reads and writes in
// buckets and secrets, are roles on those.
func MasterPermissions() []string {
	elsewhere := []string{"iam.serviceAccounts.actAs", "compute.instances.setDeletionProtection", "compute.addresses.use"}
	calls := slices.Concat(launchCalls(), reportCalls())
	return permissionsOf(func(op string) bool { return slices.Contains(calls, op) }, elsewhere)
}

// AgentPermissions are what an agent's machine needs in the project: to report. What its
// tasks read and write is a role on the data bucket.
func AgentPermissions() []string {
	return permissionsOf(func(op string) bool { return slices.Contains(reportCalls(), op) }, nil)
}

// InstallerPermissions are what a person needs in the project to install, change and
// remove clusters. A disk that several machines read and a network without its subnetwork
// are a pool's, the policy of a shared subnetwork is its host project's, and no disk is taken
// off a machine.
func InstallerPermissions() []string {
	elsewhere := []string{
		"compute.disks.useReadOnly", "compute.networks.use", "compute.networks.useExternalIp", "compute.instances.detachDisk", "compute.subnetworks.getIamPolicy", "compute.subnetworks.setIamPolicy",
	}
	others := slices.Concat(onlyLaunching(), reportCalls())
	out := append(permissionsOf(func(op string) bool { return !slices.Contains(others, op) }, elsewhere), UseQuota)
	slices.Sort(out)
	return out
}

// UseQuota lets a person's calls count against the project's quota. Google asks for it in
// the project that X-Goog-User-Project names, which the calls of a login carry.
// https://cloud.google.com/docs/quotas/set-quota-project
const UseQuota = "serviceusage.services.use"

func permissionsOf(makes func(op string) bool, without []string) []string {
	var out []string
	for _, c := range api.Calls() {
		if makes(c.Op) {
			out = append(out, c.Permissions...)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(p string) bool { return slices.Contains(without, p) })
}
