package gcptest

// predefinedRoles returns the predefined roles that det-deploy and Determined's documentation use,
// with the permissions that the fake enforces. "*" matches any text.
// https://cloud.google.com/iam/docs/understanding-roles
func predefinedRoles() map[string][]string { return predefined }

var predefined = map[string][]string{
	// The permission of all users on public images.
	"gcptest/imageUser": {"compute.images.useReadOnly"},
	"roles/owner":       {"*"},
	"roles/editor":      {"compute.*", "storage.buckets.*", "logging.*", "monitoring.*", "iam.serviceAccounts.actAs", "iam.serviceAccounts.get", "iam.serviceAccounts.list", "iam.serviceAccounts.create", "iam.serviceAccounts.delete", "resourcemanager.projects.get", "serviceusage.services.*"},
	"roles/viewer":      {"*.get", "*.list", "compute.images.getFromFamily"},
	// https://cloud.google.com/compute/docs/access/iam
	"roles/compute.admin":            {"compute.*", "resourcemanager.projects.get", "serviceusage.services.get", "serviceusage.services.list"},
	"roles/compute.instanceAdmin.v1": {"compute.instances.*", "compute.disks.*", "compute.images.get", "compute.images.useReadOnly", "compute.machineTypes.*", "compute.zones.*", "compute.zoneOperations.*", "compute.subnetworks.use", "compute.subnetworks.useExternalIp"},
	"roles/compute.networkUser": {
		"compute.addresses.get", "compute.addresses.list", "compute.addresses.useInternal", "compute.firewalls.get", "compute.firewalls.list",
		"compute.networks.access", "compute.networks.get", "compute.networks.list", "compute.networks.use", "compute.networks.useExternalIp",
		"compute.projects.get", "compute.regions.get", "compute.regions.list", "compute.routers.get", "compute.routers.list",
		"compute.routes.get", "compute.routes.list", "compute.subnetworks.get", "compute.subnetworks.list", "compute.subnetworks.use",
		"compute.subnetworks.useExternalIp", "compute.zones.get", "compute.zones.list", "resourcemanager.projects.get",
	},
	"roles/compute.networkViewer": {"compute.addresses.get", "compute.addresses.list", "compute.firewalls.get", "compute.firewalls.list", "compute.networks.get", "compute.networks.list", "compute.subnetworks.get", "compute.subnetworks.list"},
	"roles/compute.viewer":        {"compute.*.get", "compute.*.list", "compute.images.getFromFamily"},
	// https://cloud.google.com/iam/docs/service-account-permissions
	"roles/iam.serviceAccountUser":         {"iam.serviceAccounts.actAs", "iam.serviceAccounts.get", "iam.serviceAccounts.list", "resourcemanager.projects.get"},
	"roles/iam.serviceAccountAdmin":        {"iam.serviceAccounts.create", "iam.serviceAccounts.delete", "iam.serviceAccounts.get", "iam.serviceAccounts.list", "iam.serviceAccounts.update", "iam.serviceAccounts.getIamPolicy", "iam.serviceAccounts.setIamPolicy"},
	"roles/iam.serviceAccountTokenCreator": {"iam.serviceAccounts.getAccessToken", "iam.serviceAccounts.getOpenIdToken", "iam.serviceAccounts.signBlob", "iam.serviceAccounts.signJwt"},
	"roles/iam.roleAdmin":                  {"iam.roles.*", "resourcemanager.projects.get", "resourcemanager.projects.getIamPolicy"},
	// https://cloud.google.com/storage/docs/access-control/iam-roles
	"roles/storage.admin":              {"storage.*"},
	"roles/storage.objectAdmin":        {"storage.objects.*"},
	"roles/storage.objectUser":         {"storage.objects.create", "storage.objects.delete", "storage.objects.get", "storage.objects.list", "storage.objects.update"},
	"roles/storage.objectCreator":      {"storage.objects.create"},
	"roles/storage.objectViewer":       {"storage.objects.get", "storage.objects.list"},
	"roles/storage.legacyBucketReader": {"storage.buckets.get", "storage.objects.list"},
	"roles/storage.bucketViewer":       {"storage.buckets.get", "storage.buckets.list"},
	// https://cloud.google.com/secret-manager/docs/access-control
	"roles/secretmanager.admin":              {"secretmanager.*"},
	"roles/secretmanager.secretAccessor":     {"secretmanager.versions.access"},
	"roles/secretmanager.secretVersionAdder": {"secretmanager.versions.add"},
	"roles/secretmanager.viewer":             {"secretmanager.*.get", "secretmanager.*.list"},
	// https://cloud.google.com/logging/docs/access-control
	"roles/logging.admin":     {"logging.*"},
	"roles/logging.logWriter": {"logging.logEntries.create"},
	"roles/logging.viewer":    {"logging.logEntries.list", "logging.logs.list"},
	// https://cloud.google.com/monitoring/access-control
	"roles/monitoring.metricWriter": {"monitoring.timeSeries.create", "monitoring.metricDescriptors.create", "monitoring.metricDescriptors.get", "monitoring.metricDescriptors.list", "monitoring.monitoredResourceDescriptors.get", "monitoring.monitoredResourceDescriptors.list"},
	"roles/monitoring.viewer":       {"monitoring.timeSeries.list"},
	// https://cloud.google.com/service-usage/docs/access-control
	"roles/serviceusage.serviceUsageAdmin":    {"serviceusage.services.*"},
	"roles/serviceusage.serviceUsageConsumer": {"serviceusage.services.get", "serviceusage.services.list", "serviceusage.services.use"},
	"roles/resourcemanager.projectIamAdmin":   {"resourcemanager.projects.get", "resourcemanager.projects.getIamPolicy", "resourcemanager.projects.setIamPolicy"},
}
