package policy

import "slices"

// Master is what a cluster's master needs: to launch and remove machines for its
// pools, to read its own configuration and secrets, and to report.
func Master(s Scope) Document {
	made := []string{"instance", "volume", "spot-instances-request"}
	named := []string{"image", "snapshot", "subnet", "security-group", "key-pair", "network-interface"}
	out := []Statement{
		allowActions("LookAtMachines", []string{"*"}, "ec2:DescribeInstances", "ec2:DescribeSpotInstanceRequests"),
		s.whenRequestTagged(allowActions("LaunchMarked", s.ec2ARNs(made...), "ec2:RunInstances")),
		allowActions("LaunchFrom", s.ec2ARNs(named...), "ec2:RunInstances"),
		allowActions("MarkWhatIsLaunched", s.ec2ARNs(made...), "ec2:CreateTags").withCondition("StringEquals", "ec2:CreateAction", "RunInstances"),
		// A pool's mark: the master's own machine has none, and it must not be
		// able to end itself.
		s.whenResourceTagged(allowActions("RemoveOwnAgents", s.ec2ARNs("instance"), "ec2:TerminateInstances")).withCondition("StringLike", "aws:ResourceTag/"+poolTag, "?*"),
		// A machine that does not come up shows why.
		s.whenResourceTagged(allowActions("ReadOwnConsoles", s.ec2ARNs("instance"), "ec2:GetConsoleOutput")),
		s.whenResourceTagged(allowActions("CancelOwnRequests", s.ec2ARNs("spot-instances-request"), "ec2:CancelSpotInstanceRequests")),
		s.passRole("HandOnAgentRole", s.agentRole()),
		allowActions("ReadControl", []string{s.bucketARN(s.controlBucket())}, "s3:ListBucket"),
		allowActions("ReadControlObjects", []string{s.bucketARN(s.controlBucket()) + "/*"}, "s3:GetObject"),
		allowActions("WriteStatus", []string{s.bucketARN(s.controlBucket()) + "/status/*"}, "s3:PutObject"),
		allowActions("ReadSecrets", s.readableSecrets(), "secretsmanager:GetSecretValue"),
		// With it a process on the master's machine could sign for any master; only
		// the installer needs it.
		denyActions("LeaveTheAuthority", []string{s.authorityKey()}, "secretsmanager:GetSecretValue"),
	}
	return newDocument(slices.Concat(out, s.useKeys(), s.machineStatements())...)
}

// Agent is what a cluster's agents need: to read and write checkpoints, and to
// report. Tasks that run there can do as much.
func Agent(s Scope) Document { return newDocument(s.machineStatements()...) }

// machineStatements are what master and agents both need.
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
	// Amazon names no resource for these; a machine speaks for itself only.
	return append(out, allowActions("OpenSessions", []string{"*"}, sessionActions()...))
}

// sessionActions are what the SSM agent needs, which the stock images have.
func sessionActions() []string {
	return []string{
		"ssm:UpdateInstanceInformation",
		"ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
	}
}

// Optional lists actions without which a machine does its work all the same.
func Optional() []string {
	return append(sessionActions(), "ec2:GetConsoleOutput", "logs:DescribeLogStreams")
}

// passRole allows passing roles to machines only.
func (s Scope) passRole(sid string, roles ...string) Statement {
	return allowActions(sid, roles, "iam:PassRole").withCondition("StringEquals", "iam:PassedToService", "ec2."+s.serviceDomain())
}

// serviceDomain is the domain of service principals.
func (s Scope) serviceDomain() string {
	if s.Partition == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

func (s Scope) agentRole() string { return orDefault(s.AgentRole, s.roleARN("agent")) }

func (s Scope) roleARN(name string) string {
	cluster := orDefault(s.Cluster, "*")
	return "arn:" + orDefault(s.Partition, "aws") + ":iam::" + orDefault(s.Account, "*") + ":role/det-deploy/" + cluster + "/det-deploy-" + cluster + "-" + name
}
