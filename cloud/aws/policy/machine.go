package policy

import "slices"

// Master returns the policy for a cluster's master: to launch and terminate the instances of its
// pools, to read its configuration and secrets, and to write logs and metrics.
func Master(s Scope) Document {
	made := []string{"instance", "volume", "spot-instances-request"}
	named := []string{"image", "snapshot", "subnet", "security-group", "key-pair", "network-interface"}
	out := []Statement{
		allowActions("LookAtMachines", []string{"*"}, "ec2:DescribeInstances", "ec2:DescribeSpotInstanceRequests"),
		s.whenRequestTagged(allowActions("LaunchMarked", s.ec2ARNs(made...), "ec2:RunInstances")),
		allowActions("LaunchFrom", s.ec2ARNs(named...), "ec2:RunInstances"),
		allowActions("MarkWhatIsLaunched", s.ec2ARNs(made...), "ec2:CreateTags").withCondition("StringEquals", "ec2:CreateAction", "RunInstances"),
		// Only with a pool's tag: the master's own instance has none, so the master cannot
		// terminate itself.
		s.whenResourceTagged(allowActions("RemoveOwnAgents", s.ec2ARNs("instance"), "ec2:TerminateInstances")).withCondition("StringLike", "aws:ResourceTag/"+poolTag, "?*"),
		// For the console output of an instance that does not start.
		s.whenResourceTagged(allowActions("ReadOwnConsoles", s.ec2ARNs("instance"), "ec2:GetConsoleOutput")),
		s.whenResourceTagged(allowActions("CancelOwnRequests", s.ec2ARNs("spot-instances-request"), "ec2:CancelSpotInstanceRequests")),
		s.passRole("HandOnAgentRole", s.agentRole()),
		// By the role of their instance profile the master recognizes its agents.
		allowActions("ReadAgentProfile", []string{s.agentProfile()}, "iam:GetInstanceProfile"),
		allowActions("ReadControl", []string{s.bucketARN(s.controlBucket())}, "s3:ListBucket"),
		allowActions("ReadControlObjects", []string{s.bucketARN(s.controlBucket()) + "/*"}, "s3:GetObject"),
		allowActions("WriteStatus", []string{s.bucketARN(s.controlBucket()) + "/status/*"}, "s3:PutObject"),
		allowActions("ReadSecrets", s.readableSecrets(), "secretsmanager:GetSecretValue"),
		// With this key, a process on the master's instance could sign certificates for any master;
		// only the installer needs it.
		denyActions("LeaveTheAuthority", []string{s.authorityKey()}, "secretsmanager:GetSecretValue"),
	}
	return newDocument(slices.Concat(out, s.useKeys(), s.machineStatements())...)
}

// Agent returns the policy for a cluster's agents: to read and write checkpoints, logs and metrics.
// Tasks on an agent have the same permissions.
func Agent(s Scope) Document { return newDocument(s.machineStatements()...) }

// machineStatements allows the common actions of master and agents.
func (s Scope) machineStatements() []Statement {
	data := s.bucketARN(s.dataBucket())
	out := []Statement{
		allowActions("UseData", []string{data}, "s3:ListBucket", "s3:GetBucketLocation", "s3:ListBucketMultipartUploads"),
		allowActions("UseDataObjects", []string{data + "/*"}, "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"),
		allowActions("WriteLogs", s.logGroup(), "logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"),
		allowActions("PutMetrics", []string{"*"}, "cloudwatch:PutMetricData").withCondition("StringEquals", "cloudwatch:namespace", namespace),
	}
	if s.NoSessions {
		return out
	}
	// These actions support no resource-level permissions; an instance can act for itself only.
	return append(out, allowActions("OpenSessions", []string{"*"}, sessionActions()...))
}

// sessionActions returns the actions of the SSM Agent, which the stock images contain.
func sessionActions() []string {
	return []string{
		"ssm:UpdateInstanceInformation",
		"ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
	}
}

// Optional returns actions without which a machine still works. The agents' own role has the name of
// its instance profile.
func (s Scope) Optional() []string {
	out := append(sessionActions(), "ec2:GetConsoleOutput", "logs:DescribeLogStreams")
	if s.AgentRole == "" {
		out = append(out, "iam:GetInstanceProfile")
	}
	return out
}

// passRole allows passing roles to EC2 only.
func (s Scope) passRole(sid string, roles ...string) Statement {
	return allowActions(sid, roles, "iam:PassRole").withCondition("StringEquals", "iam:PassedToService", "ec2."+s.serviceDomain())
}

// serviceDomain returns the domain of service principals.
func (s Scope) serviceDomain() string {
	if s.Partition == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

func (s Scope) agentRole() string { return orDefault(s.AgentRole, s.roleARN("agent")) }

// agentProfile returns the ARN pattern of the agents' instance profile. The profile of an existing
// role may have any name.
func (s Scope) agentProfile() string {
	if s.AgentRole == "" {
		return s.iamARN("instance-profile")
	}
	return "arn:" + orDefault(s.Partition, "aws") + ":iam::" + orDefault(s.Account, "*") + ":instance-profile/*"
}

func (s Scope) roleARN(name string) string {
	cluster := orDefault(s.Cluster, "*")
	return "arn:" + orDefault(s.Partition, "aws") + ":iam::" + orDefault(s.Account, "*") + ":role/det-deploy/" + cluster + "/det-deploy-" + cluster + "-" + name
}
