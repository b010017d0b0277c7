package api

import "github.com/det-deploy/det-deploy/cloud/edge"

// networkCalls returns the calls on networks.
func networkCalls() []row {
	return []row{
		{"GET v1/projects/*/global/networks/*", edge.Reads("compute.networks.get")},
		{"GET v1/projects/*/global/networks", edge.Reads("compute.networks.list")},
		{"POST v1/projects/*/global/networks", edge.Writes("compute.networks.insert", "compute.networks.create")},
		{"DELETE v1/projects/*/global/networks/*", edge.Writes("compute.networks.delete")},
		{"GET v1/projects/*/regions/*/subnetworks/*", edge.Reads("compute.subnetworks.get")},
		{"GET v1/projects/*/regions/*/subnetworks", edge.Reads("compute.subnetworks.list")},
		{"POST v1/projects/*/regions/*/subnetworks", edge.Writes("compute.subnetworks.insert", "compute.subnetworks.create", "compute.networks.updatePolicy")},
		{"DELETE v1/projects/*/regions/*/subnetworks/*", edge.Writes("compute.subnetworks.delete", "compute.subnetworks.delete", "compute.networks.updatePolicy")},
		{"POST v1/projects/*/regions/*/subnetworks/*/setPrivateIpGoogleAccess", edge.Writes("compute.subnetworks.setPrivateIpGoogleAccess")},
		{"POST v1/projects/*/regions/*/subnetworks/*/expandIpCidrRange", edge.Writes("compute.subnetworks.expandIpCidrRange")},
		{"GET v1/projects/*/regions/*/subnetworks/*/getIamPolicy", edge.Reads("compute.subnetworks.getIamPolicy")},
		{"POST v1/projects/*/regions/*/subnetworks/*/setIamPolicy", edge.Writes("compute.subnetworks.setIamPolicy")},
		{"POST v1/projects/*/regions/*/subnetworks/*/testIamPermissions", freeCall("compute.subnetworks.testIamPermissions")},
		{"GET v1/projects/*/global/firewalls/*", edge.Reads("compute.firewalls.get")},
		{"GET v1/projects/*/global/firewalls", edge.Reads("compute.firewalls.list")},
		{"POST v1/projects/*/global/firewalls", edge.Writes("compute.firewalls.insert", "compute.firewalls.create", "compute.networks.updatePolicy")},
		{"PATCH v1/projects/*/global/firewalls/*", edge.Writes("compute.firewalls.patch", "compute.firewalls.update", "compute.networks.updatePolicy")},
		{"DELETE v1/projects/*/global/firewalls/*", edge.Writes("compute.firewalls.delete", "compute.firewalls.delete", "compute.networks.updatePolicy")},
		{"GET v1/projects/*/regions/*/routers/*", edge.Reads("compute.routers.get")},
		{"GET v1/projects/*/regions/*/routers", edge.Reads("compute.routers.list")},
		{"POST v1/projects/*/regions/*/routers", edge.Writes("compute.routers.insert", "compute.routers.create", "compute.networks.updatePolicy")},
		{"PATCH v1/projects/*/regions/*/routers/*", edge.Writes("compute.routers.patch", "compute.routers.update", "compute.networks.updatePolicy")},
		{"DELETE v1/projects/*/regions/*/routers/*", edge.Writes("compute.routers.delete", "compute.routers.delete", "compute.networks.updatePolicy")},
		{"GET v1/projects/*/regions/*/addresses/*", edge.Reads("compute.addresses.get")},
		{"GET v1/projects/*/regions/*/addresses", edge.Reads("compute.addresses.list")},
		{"POST v1/projects/*/regions/*/addresses", edge.Writes("compute.addresses.insert", "compute.addresses.create", "compute.addresses.setLabels")},
		{"DELETE v1/projects/*/regions/*/addresses/*", edge.Writes("compute.addresses.delete")},
		{"POST v1/projects/*/regions/*/addresses/*/setLabels", edge.Writes("compute.addresses.setLabels")},
	}
}

// diskCalls returns the calls on disks and snapshots.
func diskCalls() []row {
	return []row{
		{"GET v1/projects/*/zones/*/disks/*", edge.Reads("compute.disks.get")},
		{"GET v1/projects/*/aggregated/disks", edge.Reads("compute.disks.aggregatedList", "compute.disks.list")},
		// A disk may be created from a snapshot.
		{"POST v1/projects/*/zones/*/disks", edge.Writes("compute.disks.insert", "compute.disks.create", "compute.disks.setLabels", "compute.snapshots.useReadOnly")},
		{"DELETE v1/projects/*/zones/*/disks/*", edge.Writes("compute.disks.delete")},
		{"POST v1/projects/*/zones/*/disks/*/resize", edge.Writes("compute.disks.resize")},
		{"POST v1/projects/*/zones/*/disks/*/setLabels", edge.Writes("compute.disks.setLabels")},
		{"GET v1/projects/*/global/snapshots/*", edge.Reads("compute.snapshots.get")},
		{"GET v1/projects/*/global/snapshots", edge.Reads("compute.snapshots.list")},
		{"POST v1/projects/*/global/snapshots", edge.Writes("compute.snapshots.insert", "compute.snapshots.create", "compute.snapshots.setLabels", "compute.disks.createSnapshot")},
		{"DELETE v1/projects/*/global/snapshots/*", edge.Writes("compute.snapshots.delete")},
		{"POST v1/projects/*/global/snapshots/*/setLabels", edge.Writes("compute.snapshots.setLabels")},
	}
}

// instanceCalls returns the calls on instances.
func instanceCalls() []row {
	return []row{
		{"GET v1/projects/*/zones/*/instances/*", edge.Reads("compute.instances.get")},
		{"GET v1/projects/*/aggregated/instances", edge.Reads("compute.instances.aggregatedList", "compute.instances.list")},
		{"POST v1/projects/*/zones/*/instances", edge.Writes("compute.instances.insert",
			"compute.instances.create", "compute.instances.setMetadata", "compute.instances.setTags", "compute.instances.setLabels",
			"compute.instances.setServiceAccount", "compute.instances.setDeletionProtection", "compute.disks.create", "compute.disks.use",
			"compute.disks.useReadOnly", "compute.disks.setLabels", "compute.subnetworks.use", "compute.subnetworks.useExternalIp",
			"compute.networks.use", "compute.networks.useExternalIp", // for a pool without a configured subnetwork
			"compute.addresses.use", "compute.images.useReadOnly", "compute.snapshots.useReadOnly", "iam.serviceAccounts.actAs")},
		{"DELETE v1/projects/*/zones/*/instances/*", edge.Writes("compute.instances.delete")},
		{"POST v1/projects/*/zones/*/instances/*/start", edge.Writes("compute.instances.start")},
		{"POST v1/projects/*/zones/*/instances/*/stop", edge.Writes("compute.instances.stop")},
		{"POST v1/projects/*/zones/*/instances/*/setLabels", edge.Writes("compute.instances.setLabels")},
		{"POST v1/projects/*/zones/*/instances/*/setMetadata", edge.Writes("compute.instances.setMetadata")},
		{"POST v1/projects/*/zones/*/instances/*/setTags", edge.Writes("compute.instances.setTags")},
		{"POST v1/projects/*/zones/*/instances/*/setMachineType", edge.Writes("compute.instances.setMachineType")},
		{"POST v1/projects/*/zones/*/instances/*/setServiceAccount", edge.Writes("compute.instances.setServiceAccount", "compute.instances.setServiceAccount", "iam.serviceAccounts.actAs")},
		{"POST v1/projects/*/zones/*/instances/*/setDeletionProtection", edge.Writes("compute.instances.setDeletionProtection")},
		{"POST v1/projects/*/zones/*/instances/*/attachDisk", edge.Writes("compute.instances.attachDisk", "compute.instances.attachDisk", "compute.disks.use")},
		{"POST v1/projects/*/zones/*/instances/*/detachDisk", edge.Writes("compute.instances.detachDisk")},
		{"GET v1/projects/*/zones/*/instances/*/serialPort", edge.Reads("compute.instances.getSerialPortOutput")},
		{"GET v1/projects/*/zones/*/instances/*/getGuestAttributes", edge.Reads("compute.instances.getGuestAttributes")},
		{"GET v1/projects/*/zones/*/operations", edge.Reads("compute.zoneOperations.list")},
	}
}

// catalogCalls returns the calls that read Google's offers, and those that wait for operations.
func catalogCalls() []row {
	return []row{
		{"GET v1/projects/*", edge.Reads("compute.projects.get")},
		{"GET v1/projects/*/regions/*", edge.Reads("compute.regions.get")},
		{"GET v1/projects/*/regions", edge.Reads("compute.regions.list")},
		{"GET v1/projects/*/zones", edge.Reads("compute.zones.list")},
		{"GET v1/projects/*/zones/*/machineTypes", edge.Reads("compute.machineTypes.list")},
		{"GET v1/projects/*/zones/*/acceleratorTypes", edge.Reads("compute.acceleratorTypes.list")},
		{"GET v1/projects/*/global/images/*", edge.Reads("compute.images.get")},
		{"GET v1/projects/*/global/images/family/*", edge.Reads("compute.images.getFromFamily")},
		{"GET v1/projects/*/global/routes", edge.Reads("compute.routes.list")},
		{"POST v1/projects/*/zones/*/operations/*/wait", edge.Reads("compute.zoneOperations.wait", "compute.zoneOperations.get")},
		{"POST v1/projects/*/regions/*/operations/*/wait", edge.Reads("compute.regionOperations.wait", "compute.regionOperations.get")},
		{"POST v1/projects/*/global/operations/*/wait", edge.Reads("compute.globalOperations.wait", "compute.globalOperations.get")},
	}
}
