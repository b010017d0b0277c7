package api

import "github.com/det-deploy/det-deploy/cloud/edge"

// storageCalls returns the calls of Cloud Storage.
func storageCalls() []row {
	return []row{
		{"GET v1/b/*", edge.Reads("storage.buckets.get")},
		{"GET v1/b", edge.Reads("storage.buckets.list")},
		// A second creation is a conflict, which callers take for success if the bucket is theirs.
		{"POST v1/b", edge.Repeats("storage.buckets.insert", "storage.buckets.create")},
		{"PATCH v1/b/*", edge.Repeats("storage.buckets.patch", "storage.buckets.update")},
		{"DELETE v1/b/*", edge.Repeats("storage.buckets.delete")},
		{"GET v1/b/*/iam", edge.Reads("storage.buckets.getIamPolicy")},
		{"PUT v1/b/*/iam", edge.Writes("storage.buckets.setIamPolicy")},
		{"GET v1/b/*/iam/testPermissions", freeCall("storage.buckets.testIamPermissions")},
		{"GET v1/b/*/o/*", edge.Reads("storage.objects.get")},
		{"GET v1/b/*/o", edge.Reads("storage.objects.list")},
		// Overwriting an object requires the permission to delete it.
		{"POST v1/b/*/o", edge.Repeats("storage.objects.insert", "storage.objects.create", "storage.objects.delete")},
		{"DELETE v1/b/*/o/*", edge.Repeats("storage.objects.delete")},
	}
}

// iamCalls returns the calls of IAM and Resource Manager.
func iamCalls() []row {
	return []row{
		{"GET v1/projects/*/serviceAccounts/*", edge.Reads("iam.projects.serviceAccounts.get", "iam.serviceAccounts.get")},
		{"GET v1/projects/*/serviceAccounts", edge.Reads("iam.projects.serviceAccounts.list", "iam.serviceAccounts.list")},
		{"POST v1/projects/*/serviceAccounts", edge.Writes("iam.projects.serviceAccounts.create", "iam.serviceAccounts.create")},
		{"PATCH v1/projects/*/serviceAccounts/*", edge.Writes("iam.projects.serviceAccounts.patch", "iam.serviceAccounts.update")},
		{"DELETE v1/projects/*/serviceAccounts/*", edge.Writes("iam.projects.serviceAccounts.delete", "iam.serviceAccounts.delete")},
		{"POST v1/projects/*/serviceAccounts/*:getIamPolicy", edge.Reads("iam.projects.serviceAccounts.getIamPolicy", "iam.serviceAccounts.getIamPolicy")},
		{"POST v1/projects/*/serviceAccounts/*:setIamPolicy", edge.Writes("iam.projects.serviceAccounts.setIamPolicy", "iam.serviceAccounts.setIamPolicy")},
		{"POST v1/projects/*/serviceAccounts/*:testIamPermissions", freeCall("iam.projects.serviceAccounts.testIamPermissions")},
		{"GET v1/projects/*/roles/*", edge.Reads("iam.projects.roles.get", "iam.roles.get")},
		{"GET v1/projects/*/roles", edge.Reads("iam.projects.roles.list", "iam.roles.list")},
		{"POST v1/projects/*/roles", edge.Writes("iam.projects.roles.create", "iam.roles.create")},
		{"PATCH v1/projects/*/roles/*", edge.Writes("iam.projects.roles.patch", "iam.roles.update")},
		{"DELETE v1/projects/*/roles/*", edge.Writes("iam.projects.roles.delete", "iam.roles.delete")},
		{"POST v1/projects/*/roles/*:undelete", edge.Writes("iam.projects.roles.undelete", "iam.roles.undelete")},
		{"GET v3/projects:search", freeCall("cloudresourcemanager.projects.search")},
		{"GET v3/projects/*", edge.Reads("cloudresourcemanager.projects.get", "resourcemanager.projects.get")},
		{"POST v3/projects/*:getIamPolicy", edge.Reads("cloudresourcemanager.projects.getIamPolicy", "resourcemanager.projects.getIamPolicy")},
		{"POST v3/projects/*:setIamPolicy", edge.Writes("cloudresourcemanager.projects.setIamPolicy", "resourcemanager.projects.setIamPolicy")},
		{"POST v3/projects/*:testIamPermissions", freeCall("cloudresourcemanager.projects.testIamPermissions")},
	}
}

// secretCalls returns the calls of Secret Manager.
func secretCalls() []row {
	return []row{
		{"GET v1/projects/*/secrets/*", edge.Reads("secretmanager.projects.secrets.get", "secretmanager.secrets.get")},
		{"GET v1/projects/*/secrets", edge.Reads("secretmanager.projects.secrets.list", "secretmanager.secrets.list")},
		{"POST v1/projects/*/secrets", edge.Writes("secretmanager.projects.secrets.create", "secretmanager.secrets.create")},
		{"PATCH v1/projects/*/secrets/*", edge.Writes("secretmanager.projects.secrets.patch", "secretmanager.secrets.update")},
		{"DELETE v1/projects/*/secrets/*", edge.Writes("secretmanager.projects.secrets.delete", "secretmanager.secrets.delete")},
		{"POST v1/projects/*/secrets/*:addVersion", edge.Writes("secretmanager.projects.secrets.addVersion", "secretmanager.versions.add")},
		{"GET v1/projects/*/secrets/*/versions/*:access", edge.Reads("secretmanager.projects.secrets.versions.access", "secretmanager.versions.access")},
		{"GET v1/projects/*/secrets/*/versions", edge.Reads("secretmanager.projects.secrets.versions.list", "secretmanager.versions.list")},
		{"POST v1/projects/*/secrets/*/versions/*:destroy", edge.Writes("secretmanager.projects.secrets.versions.destroy", "secretmanager.versions.destroy")},
		{"GET v1/projects/*/secrets/*:getIamPolicy", edge.Reads("secretmanager.projects.secrets.getIamPolicy", "secretmanager.secrets.getIamPolicy")},
		{"POST v1/projects/*/secrets/*:setIamPolicy", edge.Writes("secretmanager.projects.secrets.setIamPolicy", "secretmanager.secrets.setIamPolicy")},
	}
}

// otherCalls returns the calls of the remaining services.
func otherCalls() []row {
	return []row{
		{"GET v1/*/*/services:batchGet", edge.Reads("serviceusage.services.batchGet", "serviceusage.services.get")},
		{"POST v1/*/*/services:batchEnable", edge.Writes("serviceusage.services.batchEnable", "serviceusage.services.enable")},
		{"GET v2/projects/*/policies/*:getEffectivePolicy", edge.Reads("orgpolicy.projects.policies.getEffectivePolicy", "orgpolicy.policy.get")},
		// Cloud Logging deduplicates entries with the same timestamp and insertId, which are always set.
		{"POST v2/entries:write", edge.Repeats("logging.entries.write", "logging.logEntries.create")},
		{"POST v2/entries:list", edge.Reads("logging.entries.list", "logging.logEntries.list")},
		{"GET v2/projects/*/logs", edge.Reads("logging.projects.logs.list", "logging.logs.list")},
		{"DELETE v2/projects/*/logs/*", edge.Writes("logging.projects.logs.delete", "logging.logs.delete")},
		{"POST v3/projects/*/timeSeries", edge.Writes("monitoring.projects.timeSeries.create", "monitoring.timeSeries.create")},
	}
}
