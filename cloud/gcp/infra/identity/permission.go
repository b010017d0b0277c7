package identity

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// launchCalls returns the calls of a master on the instances of its pools.
func launchCalls() []string {
	return []string{
		"compute.instances.insert", "compute.instances.delete", "compute.instances.get", "compute.instances.aggregatedList",
		"compute.instances.getSerialPortOutput", "compute.instances.getGuestAttributes",
		"compute.zoneOperations.wait", "compute.zoneOperations.list",
	}
}

// onlyLaunching returns the calls that only a master makes.
func onlyLaunching() []string {
	return []string{"compute.instances.getSerialPortOutput", "compute.instances.getGuestAttributes", "compute.zoneOperations.list"}
}

// reportCalls returns the calls with which an instance writes logs and metrics.
func reportCalls() []string {
	return []string{"logging.entries.write", "monitoring.projects.timeSeries.create"}
}

// MasterPermissions returns the permissions that a master needs in the project to launch instances,
// and its instance to write logs and metrics. The use of the agents' service account and the access
// to buckets and secrets are granted by roles on these resources.
func MasterPermissions() []string {
	elsewhere := []string{"iam.serviceAccounts.actAs", "compute.instances.setDeletionProtection", "compute.addresses.use"}
	calls := slices.Concat(launchCalls(), reportCalls())
	return permissionsOf(func(op string) bool { return slices.Contains(calls, op) }, elsewhere)
}

// AgentPermissions returns the permissions that an agent's instance needs in the project: to write
// logs and metrics. The access of its tasks is granted by a role on the data bucket.
func AgentPermissions() []string {
	return permissionsOf(func(op string) bool { return slices.Contains(reportCalls(), op) }, nil)
}

// InstallerPermissions returns the permissions that a user needs in the project to install, update
// and delete clusters. It excludes permissions for calls that only a pool needs (read-only disks
// shared by instances, networks without a subnetwork), for the policy of a shared subnetwork, which
// is in its host project, and for detaching disks, which the installer never does.
func InstallerPermissions() []string {
	elsewhere := []string{
		"compute.disks.useReadOnly", "compute.networks.use", "compute.networks.useExternalIp", "compute.instances.detachDisk", "compute.subnetworks.getIamPolicy", "compute.subnetworks.setIamPolicy",
	}
	others := slices.Concat(onlyLaunching(), reportCalls())
	out := append(permissionsOf(func(op string) bool { return !slices.Contains(others, op) }, elsewhere), UseQuota)
	slices.Sort(out)
	return out
}

// UseQuota is the permission to count calls against the project's quota. Google requires it in the
// project that the header X-Goog-User-Project names, which calls with user credentials contain.
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
