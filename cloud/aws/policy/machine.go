package policy

import "slices"

// Master is what a cluster's master needs: to launch and remove machines for its
// pools, to read its own configuration and secrets, and to report.
func Master(s Scope) Document {
	made := []string{"instance", "volume", "spot-instances-request"}
	named := []string{"image", "snapshot", "subnet", "security-group", "key-pair", "network-interface"}
	out := []Statement{
		allow("LookAtMachines", []string{"*"}, "ec2:DescribeInstances", "ec2:DescribeSpotInstanceRequests"),
		s.marked(allow("LaunchMarked", s.ec2(made...), "ec2:RunInstances")),
		allow("LaunchFrom", s.ec2(named...), "ec2:RunInstances"),
		allow("MarkWhatIsLaunched", s.ec2(made...), "ec2:CreateTags").when("StringEquals", "ec2:CreateAction", "RunInstances"),
		// A pool's mark: the master's own machine has none, and it must not be
		// able to end itself.
		s.ours(allow("RemoveOwnAgents", s.ec2("instance"), "ec2:TerminateInstances")).when("StringLike", "aws:ResourceTag/"+poolTag, "?*"),
		// A machine that does not come up shows why.
		s.ours(allow("ReadOwnConsoles", s.ec2("instance"), "ec2:GetConsoleOutput")),
		s.ours(allow("CancelOwnRequests", s.ec2("spot-instances-request"), "ec2:CancelSpotInstanceRequests")),
		s.pass("HandOnAgentRole", s.agentRole()),
		allow("ReadControl", []string{s.bucket(s.controlBucket())}, "s3:ListBucket"),
		allow("ReadControlObjects", []string{s.bucket(s.controlBucket()) + "/*"}, "s3:GetObject"),
		allow("WriteStatus", []string{s.bucket(s.controlBucket()) + "/status/*"}, "s3:PutObject"),
		allow("ReadSecrets", s.readableSecrets(), "secretsmanager:GetSecretValue"),
		// With it a process on the master's machine could sign for any master; only
		// the installer needs it.
		deny("LeaveTheAuthority", []string{s.authorityKey()}, "secretsmanager:GetSecretValue"),
	}
	return document(slices.Concat(out, s.useKeys(), s.machine())...)
}

// Agent is what a cluster's agents need: to read and write checkpoints, and to
// report. Tasks that run there can do as much.
func Agent(s Scope) Document { return document(s.machine()...) }

// machine is what master and agents both need.
func (s Scope) machine() []Statement {
	data := s.bucket(s.dataBucket())
	out := []Statement{
		allow("UseData", []string{data}, "s3:ListBucket", "s3:GetBucketLocation", "s3:ListBucketMultipartUploads"),
		allow("UseDataObjects", []string{data + "/*"}, "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"),
		allow("WriteLogs", s.logGroup(), "logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"),
		allow("PutMetrics", []string{"*"}, "cloudwatch:PutMetricData").when("StringEquals", "cloudwatch:namespace", namespace),
	}
	if s.NoSessions {
		return out
	}
	// Amazon names no resource for these; a machine speaks for itself only.
	return append(out, allow("OpenSessions", []string{"*"}, sessions()...))
}

// sessions is what the agent of Session Manager needs, which the stock images have.
func sessions() []string {
	return []string{
		"ssm:UpdateInstanceInformation",
		"ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
	}
}

// Optional lists actions without which a machine does its work all the same.
func Optional() []string {
	return append(sessions(), "ec2:GetConsoleOutput", "logs:DescribeLogStreams")
}

// pass lets roles be handed to machines, and to nothing else.
func (s Scope) pass(sid string, roles ...string) Statement {
	return allow(sid, roles, "iam:PassRole").when("StringEquals", "iam:PassedToService", "ec2."+s.domain())
}

// domain is how services are called that take roles.
func (s Scope) domain() string {
	if s.Partition == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

func (s Scope) agentRole() string { return or(s.AgentRole, s.role("agent")) }

func (s Scope) role(name string) string {
	cluster := or(s.Cluster, "*")
	return "arn:" + or(s.Partition, "aws") + ":iam::" + or(s.Account, "*") + ":role/det-deploy/" + cluster + "/det-deploy-" + cluster + "-" + name
}

// Trust is who may take the roles of machines: machines.
func Trust(s Scope) string {
	return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.` + s.domain() + `"},"Action":"sts:AssumeRole"}]}`
}
