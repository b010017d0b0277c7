package spec

// AWSFlags is every setting of a cluster on AWS that can be given on the command
// line. What has no flag, such as a second pool, is set in a file.
func AWSFlags() Table { return newTable("aws", awsPlaceFlags(), awsMachineFlags()) }

func awsPlaceFlags() Table {
	return Table{
		textFlag("region", "region", "AWS region"),
		textFlag("key-pair", "key_pair", "EC2 key pair for SSH to the cluster's machines"),
		textFlag("tag", "tags", "additional tags for all resources, as key=value,key=value"),
		boolFlag("agent-public-ip", "network.public_ip", "assign public addresses to agents"),
		textFlag("network-cidr", "network.cidr", "address range of the managed VPC"),
		textFlag("zone", "network.zones", "availability zones of the managed VPC"),
		textFlag("vpc", "network.vpc", "existing VPC to use"),
		textFlag("subnet", "network.subnets", "subnets of the existing VPC, in order of preference"),
		textFlag("master-security-group", "network.master_security_group", "existing security group of the master"),
		textFlag("agent-security-group", "network.agent_security_group", "existing security group of agents"),
		textFlag("master-role", "roles.master", "existing IAM role of the master"),
		textFlag("agent-role", "roles.agent", "existing IAM role of agents"),
		boolFlag("session-manager", "roles.session_manager", "allow AWS Session Manager"),
	}
}

func awsMachineFlags() Table {
	return Table{
		textFlag("master-instance-type", "master.instance_type", "instance type of the master"),
		textFlag("master-image", "master.image", "AMI of the master"),
		textFlag("master-subnet", "master.subnet", "subnet of an existing VPC for the master"),
		textFlag("master-zone", "master.zone", "availability zone of the master in a managed VPC"),
		textFlag("master-root-volume-size", "master.root_volume_size", "size of the master's root volume in GB"),
		textFlag("data-volume-size", "master.volume.size", "size of the master's data volume in GB"),
		textFlag("data-volume", "master.volume.id", "existing volume for the master's data"),
		textFlag("data-snapshot", "master.volume.snapshot", "snapshot for the data volume"),
		textFlag("instance-type", anyPool+"instance_types", "instance types of the compute pool, in order of preference"),
		textFlag("slots", anyPool+"slots", "slots per agent of the compute pool"),
		textFlag("spot-max-price", anyPool+"max_price", "maximum spot price in dollars per hour"),
		textFlag("aux-instance-type", "aux_pool.instance_types", "instance types of the pool for tasks without slots"),
		textFlag("agent-image", "agents.image", "AMI of agents"),
		textFlag("agent-root-volume-size", "agents.root_volume_size", "size of agents' root volumes in GB"),
		textFlag("log-group", "logs.group", "CloudWatch log group"),
		textFlag("log-retention-days", "logs.retention_days", "days after which logs are deleted; 0 for never"),
		boolFlag("keep-log-group", "logs.keep_on_down", "keep the log group when the cluster is removed"),
		boolFlag("metrics", "metrics", "send the metrics of all machines to CloudWatch"),
	}
}
