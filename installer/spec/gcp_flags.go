package spec

// GCPFlags is every setting of a cluster on Google Cloud that can be given on the command
// line. What has no flag, such as a second pool, is set in a file.
func GCPFlags() Table { return newTable("gcp", gcpPlaceFlags(), gcpMachineFlags()) }

func gcpPlaceFlags() Table {
	return Table{
		textFlag("project", "project", "Google project; gcloud's when not given"),
		textFlag("region", "region", "Google region; gcloud's when not given"),
		textFlag("zone", "master.zone", "zone of the master"),
		textFlag("label", "labels", "additional labels for all resources, as key=value,key=value"),
		boolFlag("agent-external-ip", "network.external_ip", "assign external addresses to agents"),
		boolFlag("nat", "network.nat", "make a router with Cloud NAT in the managed network"),
		textFlag("network-cidr", "network.cidr", "address range of the managed network's subnetwork"),
		textFlag("network-tag", "network.tags", "additional network tags of all machines"),
		textFlag("network", "network.network", "existing network to use"),
		textFlag("subnetwork", "network.subnetwork", "subnetwork of the existing network"),
		textFlag("host-project", "network.host_project", "project that shares the existing network"),
		boolFlag("share-access", "network.share_access", "give the cluster's accounts Compute Network User on the shared subnetwork"),
		textFlag("firewall", "network.firewall", "firewall rules in an existing network: own or existing"),
		textFlag("master-service-account", "roles.master", "existing service account of the master, or default"),
		textFlag("agent-service-account", "roles.agent", "existing service account of agents, default or none"),
	}
}

func gcpMachineFlags() Table {
	return Table{
		textFlag("master-machine-type", "master.machine_type", "machine type of the master"),
		textFlag("master-image", "master.image", "image of the master"),
		textFlag("master-boot-disk-size", "master.boot_disk_size", "size of the master's boot disk in GB"),
		textFlag("data-disk-size", "master.disk.size", "size of the master's data disk in GB"),
		textFlag("data-disk-type", "master.disk.type", "type of the master's data disk"),
		textFlag("data-disk", "master.disk.name", "existing disk for the master's data"),
		textFlag("data-snapshot", "master.disk.snapshot", "snapshot for the data disk"),
		textFlag("machine", anyPool+"machines", "machine types of the compute pool, in order of preference, as TYPE or TYPE+NUMBERxGPU"),
		textFlag("pool-zone", anyPool+"zones", "zones of the compute pool, in order of preference"),
		textFlag("aux-machine", "aux_pool.machines", "machine types of the pool for tasks without slots"),
		textFlag("agent-image", "agents.image", "image of agents"),
		textFlag("agent-boot-disk-size", "agents.boot_disk.size", "size of agents' boot disks in GB"),
		textFlag("agent-boot-disk-type", "agents.boot_disk.type", "type of agents' boot disks"),
		boolFlag("keep-logs", "logs.keep_on_down", "keep the log's entries when the cluster is removed"),
		boolFlag("metrics", "metrics", "send the metrics of all machines to Cloud Monitoring"),
	}
}
