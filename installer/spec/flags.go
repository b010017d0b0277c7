package spec

import (
	"strings"

	"github.com/det-deploy/det-deploy/document"
)

// FileSetting is the name under which the file itself is remembered; the other
// settings are named for their flags.
const FileSetting = "cluster.yaml"

// anyPool stands in a flag's path for the one pool of tasks with slots.
const anyPool = "pools.*."

// AWSFlag is a setting that can be given on the command line.
type AWSFlag struct {
	document.Override
	// FromFile marks a flag whose value is the name of a file; what is read and
	// remembered is the file's content.
	FromFile bool
}

// AWSOverrides is AWSFlags for those who declare flags.
func AWSOverrides() []document.Override {
	flags := AWSFlags()
	out := make([]document.Override, len(flags))
	for i, f := range flags {
		out[i] = f.Override
	}
	return out
}

// AWSFlags is every setting of a cluster on AWS that can be given on the command
// line. What has no flag, such as a second pool, stands in a file.
func AWSFlags() []AWSFlag {
	var out []AWSFlag
	for _, section := range [][]AWSFlag{networkFlags(), masterFlags(), poolFlags(), agentFlags(), taskFlags(), otherFlags()} {
		out = append(out, section...)
	}
	for i := range out {
		out[i].Env = "DET_AWS_" + strings.ToUpper(strings.ReplaceAll(out[i].Flag, "-", "_"))
	}
	return out
}

func text(flag, path, usage string) AWSFlag {
	return AWSFlag{Override: document.Override{Flag: flag, Path: path, Usage: usage}}
}

func truth(flag, path, usage string) AWSFlag {
	f := text(flag, path, usage)
	f.Bool = true
	return f
}

// refer is a flag for a secret, of which a command line may only say where it is.
func refer(flag, path, usage string) AWSFlag {
	f := text(flag, path, usage)
	f.Reference = true
	return f
}

func content(flag, path, usage string) AWSFlag {
	f := text(flag, path, usage)
	f.FromFile = true
	return f
}

func networkFlags() []AWSFlag {
	return []AWSFlag{
		text("region", "region", "AWS region"),
		text("key-pair", "key_pair", "EC2 key pair for SSH to the cluster's machines"),
		text("tag", "tags", "additional tags for all resources, as key=value,key=value"),
		text("inbound-cidr", "network.inbound_cidrs", "address ranges that may reach the master"),
		truth("ssh", "network.ssh", "allow SSH from the same address ranges"),
		truth("agent-public-ip", "network.public_ip", "assign public addresses to agents"),
		text("network-cidr", "network.cidr", "address range of the managed VPC"),
		text("zone", "network.zones", "availability zones of the managed VPC"),
		text("vpc", "network.vpc", "existing VPC to use"),
		text("subnet", "network.subnets", "subnets of the existing VPC, in order of preference"),
		text("master-security-group", "network.master_security_group", "existing security group of the master"),
		text("agent-security-group", "network.agent_security_group", "existing security group of agents"),
		text("master-role", "roles.master", "existing IAM role of the master"),
		text("agent-role", "roles.agent", "existing IAM role of agents"),
		truth("session-manager", "roles.session_manager", "allow AWS Session Manager"),
	}
}

func masterFlags() []AWSFlag {
	return []AWSFlag{
		text("master-instance-type", "master.instance_type", "instance type of the master"),
		text("master-image", "master.image", "AMI of the master"),
		text("master-subnet", "master.subnet", "subnet of an existing VPC for the master"),
		text("master-zone", "master.zone", "availability zone of the master in a managed VPC"),
		text("master-root-volume-size", "master.root_volume_size", "size of the master's root volume in GB"),
		text("data-volume-size", "master.volume.size", "size of the master's data volume in GB"),
		text("data-volume", "master.volume.id", "existing volume for the master's data"),
		text("data-snapshot", "master.volume.snapshot", "snapshot for the data volume"),
		content("tls-cert-file", "tls.certificate", "file with the master's own certificate and its chain"),
		refer("tls-key", "tls.key", "reference to the certificate's key"),
		content("tls-ca-file", "tls.ca", "file with the certificate that agents and clients trust"),
		text("tls-name", "tls.name", "name in the certificate"),
		refer("db-url", "database.url", "reference to the URL of an external PostgreSQL database"),
		refer("initial-password", "initial_password", "reference to the initial password of admin, and of determined unless set"),
		refer("initial-determined-password", "initial_determined_password", "reference to the initial password of determined"),
	}
}

func poolFlags() []AWSFlag {
	return []AWSFlag{
		text("instance-type", anyPool+"instance_types", "instance types of the compute pool, in order of preference"),
		text("min-agents", anyPool+"min_agents", "minimum number of agents in the compute pool"),
		text("max-agents", anyPool+"max_agents", "maximum number of agents in the compute pool"),
		truth("spot", anyPool+"spot", "use spot instances in the compute pool"),
		text("spot-max-price", anyPool+"max_price", "maximum spot price in dollars per hour"),
		truth("spot-fallback", anyPool+"fallback_to_on_demand", "fall back to on-demand instances without spot capacity"),
		text("idle-period", anyPool+"idle_period", "idle time after which an agent of the compute pool is terminated"),
		text("starting-period", anyPool+"starting_period", "time in which a machine of the compute pool must join"),
		text("slots", anyPool+"slots", "slots per agent of the compute pool"),
		truth("cpu-slots", anyPool+"cpu_slots", "one slot for machines without GPUs"),
		text("aux-instance-type", "aux_pool.instance_types", "instance types of the pool for tasks without slots"),
		text("aux-min-agents", "aux_pool.min_agents", "minimum number of agents in the auxiliary pool"),
		text("aux-max-agents", "aux_pool.max_agents", "maximum number of agents in the auxiliary pool"),
		text("aux-max-tasks", "aux_pool.max_aux_tasks", "maximum tasks per agent of the auxiliary pool"),
		truth("aux-spot", "aux_pool.spot", "use spot instances in the auxiliary pool"),
		text("aux-idle-period", "aux_pool.idle_period", "idle time after which an agent of the auxiliary pool is terminated"),
		text("default-pool", "default_pool", "default pool of tasks with slots"),
	}
}

func agentFlags() []AWSFlag {
	return []AWSFlag{
		text("agent-image", "agents.image", "AMI of agents"),
		text("agent-root-volume-size", "agents.root_volume_size", "size of agents' root volumes in GB"),
		content("startup-script-file", "agents.startup_script", "file with a script that runs on a machine before its agent starts"),
		content("container-startup-script-file", "agents.container_startup_script", "file with a script that runs in the agent's container"),
		text("agent-reconnect-attempts", "agents.reconnect_attempts", "how often an agent tries to reconnect"),
		text("agent-reconnect-backoff", "agents.reconnect_backoff", "pause between these attempts"),
		truth("shut-down-agents-on-connection-loss", "agents.shut_down_on_connection_loss", "power a machine off when its agent has given up its master"),
		text("agent-docker-network", "agents.docker_network", "Docker network of tasks"),
		text("agent-docker-runtime", "agents.docker_runtime", "Docker runtime of tasks"),
		content("agent-config-file", "agents.config", "file with settings of agent.yaml for all agents"),
	}
}

func taskFlags() []AWSFlag {
	return []AWSFlag{
		text("cpu-image", "tasks.cpu_image", "image of tasks without GPUs"),
		text("gpu-image", "tasks.gpu_image", "image of tasks with GPUs"),
		text("registry-server", "tasks.registry.server", "image registry to sign in to"),
		text("registry-user", "tasks.registry.user", "user at the registry"),
		refer("registry-password", "tasks.registry.password", "reference to the password at the registry"),
		text("notebook-timeout", "tasks.notebook_timeout", "how long a notebook may be idle"),
		text("scheduler-type", "scheduler.type", "priority, fair_share or round_robin"),
		truth("preemption", "scheduler.preemption", "stop tasks of lower priority for those of higher"),
		text("fitting-policy", "scheduler.fitting_policy", "fitting policy: best or worst"),
	}
}

func otherFlags() []AWSFlag {
	return []AWSFlag{
		text("data-bucket", "storage.bucket", "existing bucket for checkpoints"),
		text("data-prefix", "storage.prefix", "prefix of checkpoints in the bucket"),
		text("log-group", "logs.group", "CloudWatch log group"),
		text("log-retention-days", "logs.retention_days", "days after which logs are deleted; 0 for never"),
		truth("keep-log-group", "logs.keep_on_down", "keep the log group when the cluster is removed"),
		truth("metrics", "metrics", "send the metrics of all machines to CloudWatch"),
		truth("enable-cors", "enable_cors", "allow cross-origin requests (CORS)"),
		content("master-config-file", "master_yaml", "file with master.yaml settings that override the cluster's"),
	}
}
