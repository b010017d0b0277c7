package spec

import (
	"strings"

	"github.com/det-deploy/det-deploy/document"
)

// FileSetting is the name under which the file itself is remembered; the other
// settings are named for their flags.
const FileSetting = "cluster.yaml"

// anyPool is the placeholder in a flag's path for the one pool of tasks with slots.
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
// line. What has no flag, such as a second pool, is set in a file.
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

func textFlag(flag, path, usage string) AWSFlag {
	return AWSFlag{Override: document.Override{Flag: flag, Path: path, Usage: usage}}
}

func boolFlag(flag, path, usage string) AWSFlag {
	f := textFlag(flag, path, usage)
	f.Bool = true
	return f
}

// secretFlag is a flag for a secret, whose value is a reference only.
func secretFlag(flag, path, usage string) AWSFlag {
	f := textFlag(flag, path, usage)
	f.Reference = true
	return f
}

func contentFlag(flag, path, usage string) AWSFlag {
	f := textFlag(flag, path, usage)
	f.FromFile = true
	return f
}

func networkFlags() []AWSFlag {
	return []AWSFlag{
		textFlag("region", "region", "AWS region"),
		textFlag("key-pair", "key_pair", "EC2 key pair for SSH to the cluster's machines"),
		textFlag("tag", "tags", "additional tags for all resources, as key=value,key=value"),
		textFlag("inbound-cidr", "network.inbound_cidrs", "address ranges that may reach the master"),
		boolFlag("ssh", "network.ssh", "allow SSH from the same address ranges"),
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

func masterFlags() []AWSFlag {
	return []AWSFlag{
		textFlag("master-instance-type", "master.instance_type", "instance type of the master"),
		textFlag("master-image", "master.image", "AMI of the master"),
		textFlag("master-subnet", "master.subnet", "subnet of an existing VPC for the master"),
		textFlag("master-zone", "master.zone", "availability zone of the master in a managed VPC"),
		textFlag("master-root-volume-size", "master.root_volume_size", "size of the master's root volume in GB"),
		textFlag("data-volume-size", "master.volume.size", "size of the master's data volume in GB"),
		textFlag("data-volume", "master.volume.id", "existing volume for the master's data"),
		textFlag("data-snapshot", "master.volume.snapshot", "snapshot for the data volume"),
		contentFlag("tls-cert-file", "tls.certificate", "file with the master's own certificate and its chain"),
		secretFlag("tls-key", "tls.key", "reference to the certificate's key"),
		contentFlag("tls-ca-file", "tls.ca", "file with the certificate that agents and clients trust"),
		textFlag("tls-name", "tls.name", "name in the certificate"),
		secretFlag("db-url", "database.url", "reference to the URL of an external PostgreSQL database"),
		secretFlag("initial-password", "initial_password", "reference to the initial password of admin, and of determined unless set"),
		secretFlag("initial-determined-password", "initial_determined_password", "reference to the initial password of determined"),
	}
}

func poolFlags() []AWSFlag {
	return []AWSFlag{
		textFlag("instance-type", anyPool+"instance_types", "instance types of the compute pool, in order of preference"),
		textFlag("min-agents", anyPool+"min_agents", "minimum number of agents in the compute pool"),
		textFlag("max-agents", anyPool+"max_agents", "maximum number of agents in the compute pool"),
		boolFlag("spot", anyPool+"spot", "use spot instances in the compute pool"),
		textFlag("spot-max-price", anyPool+"max_price", "maximum spot price in dollars per hour"),
		boolFlag("spot-fallback", anyPool+"fallback_to_on_demand", "fall back to on-demand instances without spot capacity"),
		textFlag("idle-period", anyPool+"idle_period", "idle time after which an agent of the compute pool is terminated"),
		textFlag("starting-period", anyPool+"starting_period", "time in which a machine of the compute pool must join"),
		textFlag("slots", anyPool+"slots", "slots per agent of the compute pool"),
		boolFlag("cpu-slots", anyPool+"cpu_slots", "one slot for machines without GPUs"),
		textFlag("aux-instance-type", "aux_pool.instance_types", "instance types of the pool for tasks without slots"),
		textFlag("aux-min-agents", "aux_pool.min_agents", "minimum number of agents in the auxiliary pool"),
		textFlag("aux-max-agents", "aux_pool.max_agents", "maximum number of agents in the auxiliary pool"),
		textFlag("aux-max-tasks", "aux_pool.max_aux_tasks", "maximum tasks per agent of the auxiliary pool"),
		boolFlag("aux-spot", "aux_pool.spot", "use spot instances in the auxiliary pool"),
		textFlag("aux-idle-period", "aux_pool.idle_period", "idle time after which an agent of the auxiliary pool is terminated"),
		textFlag("default-pool", "default_pool", "default pool of tasks with slots"),
	}
}

func agentFlags() []AWSFlag {
	return []AWSFlag{
		textFlag("agent-image", "agents.image", "AMI of agents"),
		textFlag("agent-root-volume-size", "agents.root_volume_size", "size of agents' root volumes in GB"),
		contentFlag("startup-script-file", "agents.startup_script", "file with a script that runs on a machine before its agent starts"),
		contentFlag("container-startup-script-file", "agents.container_startup_script", "file with a script that runs in the agent's container"),
		textFlag("agent-reconnect-attempts", "agents.reconnect_attempts", "how often an agent tries to reconnect"),
		textFlag("agent-reconnect-backoff", "agents.reconnect_backoff", "pause between these attempts"),
		boolFlag("shut-down-agents-on-connection-loss", "agents.shut_down_on_connection_loss", "power a machine off when its agent has given up its master"),
		textFlag("agent-docker-network", "agents.docker_network", "Docker network of tasks"),
		textFlag("agent-docker-runtime", "agents.docker_runtime", "Docker runtime of tasks"),
		contentFlag("agent-config-file", "agents.config", "file with settings of agent.yaml for all agents"),
	}
}

func taskFlags() []AWSFlag {
	return []AWSFlag{
		textFlag("cpu-image", "tasks.cpu_image", "image of tasks without GPUs"),
		textFlag("gpu-image", "tasks.gpu_image", "image of tasks with GPUs"),
		textFlag("registry-server", "tasks.registry.server", "image registry to sign in to"),
		textFlag("registry-user", "tasks.registry.user", "user at the registry"),
		secretFlag("registry-password", "tasks.registry.password", "reference to the password at the registry"),
		textFlag("notebook-timeout", "tasks.notebook_timeout", "how long a notebook may be idle"),
		textFlag("scheduler-type", "scheduler.type", "priority, fair_share or round_robin"),
		boolFlag("preemption", "scheduler.preemption", "stop tasks of lower priority for those of higher"),
		textFlag("fitting-policy", "scheduler.fitting_policy", "fitting policy: best or worst"),
	}
}

func otherFlags() []AWSFlag {
	return []AWSFlag{
		textFlag("data-bucket", "storage.bucket", "existing bucket for checkpoints"),
		textFlag("data-prefix", "storage.prefix", "prefix of checkpoints in the bucket"),
		textFlag("log-group", "logs.group", "CloudWatch log group"),
		textFlag("log-retention-days", "logs.retention_days", "days after which logs are deleted; 0 for never"),
		boolFlag("keep-log-group", "logs.keep_on_down", "keep the log group when the cluster is removed"),
		boolFlag("metrics", "metrics", "send the metrics of all machines to CloudWatch"),
		boolFlag("enable-cors", "enable_cors", "allow cross-origin requests (CORS)"),
		contentFlag("master-config-file", "master_yaml", "file with master.yaml settings that override the cluster's"),
	}
}
