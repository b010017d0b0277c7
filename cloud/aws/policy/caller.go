package policy

import "slices"

// Caller is what the person needs who installs, changes and removes a cluster: two
// documents, because one would be longer than Amazon allows.
func Caller(s Scope) []Named {
	return []Named{
		{"caller-machines", document(slices.Concat(s.looks(), s.makes(), s.changes(), s.useKeys())...)},
		{"caller-roles-and-data", document(slices.Concat(s.roles(), s.keeps())...)},
	}
}

// looks are questions that Amazon cannot limit to one cluster.
func (s Scope) looks() []Statement {
	return []Statement{
		allow(
			"Look", []string{"*"},
			"ec2:DescribeRegions", "ec2:DescribeAvailabilityZones", "ec2:DescribeVpcs", "ec2:DescribeSubnets",
			"ec2:DescribeInternetGateways", "ec2:DescribeRouteTables", "ec2:DescribeVpcEndpoints", "ec2:DescribeSecurityGroups",
			"ec2:DescribeNetworkInterfaces", "ec2:DescribeAddresses", "ec2:DescribeInstances", "ec2:DescribeInstanceTypes",
			"ec2:DescribeInstanceTypeOfferings", "ec2:DescribeImages", "ec2:DescribeKeyPairs", "ec2:DescribeVolumes",
			"ec2:DescribeSnapshots", "ec2:DescribeSpotInstanceRequests", "ec2:GetEbsDefaultKmsKeyId",
			"iam:ListRoles", "iam:ListInstanceProfiles", "iam:SimulatePrincipalPolicy",
			"s3:ListAllMyBuckets", "secretsmanager:ListSecrets", "logs:DescribeLogGroups", "servicequotas:GetServiceQuota",
		),
		// The public list of images.
		allow("FindImages", []string{"arn:" + or(s.Partition, "aws") + ":ssm:" + or(s.Region, "*") + "::parameter/aws/service/*"}, "ssm:GetParameter"),
	}
}

// makes are calls that create. What is created must carry the mark; what it is
// created in or from may be anybody's.
func (s Scope) makes() []Statement {
	// The ARN of a snapshot names no account.
	made := append(s.ec2("snapshot"), s.arn("ec2", "*"))
	creates := []string{
		"ec2:CreateVpc", "ec2:CreateSubnet", "ec2:CreateInternetGateway", "ec2:CreateRouteTable", "ec2:CreateVpcEndpoint",
		"ec2:CreateSecurityGroup", "ec2:AllocateAddress", "ec2:RunInstances", "ec2:CreateVolume", "ec2:CreateSnapshot",
	}
	var names []string
	for _, c := range creates {
		names = append(names, c[len("ec2:"):])
	}
	return []Statement{
		s.marked(allow("MakeMarked", made, creates...)),
		allow("MakeInNetwork", s.ec2("vpc"), "ec2:CreateSubnet", "ec2:CreateRouteTable", "ec2:CreateVpcEndpoint", "ec2:CreateSecurityGroup"),
		allow("MakeOnRoutes", s.ec2("route-table"), "ec2:CreateVpcEndpoint"),
		allow("MakeMachineFrom", s.ec2("image", "snapshot", "subnet", "security-group", "key-pair"), "ec2:RunInstances"),
		allow("MakeVolumeFrom", s.ec2("snapshot"), "ec2:CreateVolume"),
		s.ours(allow("MakeSnapshotOf", s.ec2("volume"), "ec2:CreateSnapshot")),
		allow("MarkWhatIsMade", made, "ec2:CreateTags").when("StringEquals", "ec2:CreateAction", names...),
	}
}

// changes are calls on what carries the mark.
func (s Scope) changes() []Statement {
	out := []Statement{s.ours(allow(
		"ChangeOwn", append(s.ec2("snapshot"), s.arn("ec2", "*")),
		"ec2:CreateTags",
		"ec2:DeleteVpc", "ec2:DeleteSubnet",
		"ec2:AttachInternetGateway", "ec2:DetachInternetGateway", "ec2:DeleteInternetGateway",
		"ec2:CreateRoute", "ec2:ReplaceRoute", "ec2:AssociateRouteTable", "ec2:DisassociateRouteTable", "ec2:DeleteRouteTable",
		"ec2:DeleteVpcEndpoints",
		"ec2:AuthorizeSecurityGroupIngress", "ec2:AuthorizeSecurityGroupEgress", "ec2:RevokeSecurityGroupIngress",
		"ec2:DeleteSecurityGroup",
		"ec2:AssociateAddress", "ec2:DisassociateAddress", "ec2:ReleaseAddress", "ec2:DeleteNetworkInterface",
		"ec2:StartInstances", "ec2:StopInstances", "ec2:TerminateInstances", "ec2:ModifyInstanceAttribute", "ec2:ModifyInstanceMetadataOptions",
		"ec2:AttachVolume", "ec2:DetachVolume", "ec2:ModifyVolume", "ec2:DeleteVolume", "ec2:DeleteSnapshot", "ec2:CancelSpotInstanceRequests",
	))}
	if s.Volume != "" {
		// An upgrade keeps the disk as a snapshot first.
		out = append(out, allow("UseGivenVolume", []string{s.arn("ec2", "volume/"+s.Volume)}, "ec2:AttachVolume", "ec2:DetachVolume", "ec2:CreateSnapshot"))
	}
	return out
}

// roles are the cluster's roles and what they are handed to.
func (s Scope) roles() []Statement {
	spot := "arn:" + or(s.Partition, "aws") + ":iam::" + or(s.Account, "*") + ":role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"
	passed, seen := []string{s.iam("role")}, []string{s.iam("role"), s.iam("instance-profile"), spot}
	for _, given := range []string{s.MasterRole, s.AgentRole} {
		if given != "" {
			passed, seen = append(passed, given), append(seen, given)
		}
	}
	if len(passed) > 1 { // the profile of a role need not be called as the role is
		seen = append(seen, "arn:"+or(s.Partition, "aws")+":iam::"+or(s.Account, "*")+":instance-profile/*")
	}
	return []Statement{
		allow(
			"LookAtRoles", seen,
			"iam:GetRole", "iam:GetRolePolicy", "iam:ListRolePolicies", "iam:ListAttachedRolePolicies", "iam:GetInstanceProfile",
		),
		allow(
			"MakeRoles", []string{s.iam("role"), s.iam("instance-profile")},
			"iam:CreateRole", "iam:TagRole", "iam:UpdateAssumeRolePolicy", "iam:PutRolePolicy", "iam:DeleteRolePolicy",
			"iam:DetachRolePolicy", "iam:DeleteRole",
			"iam:CreateInstanceProfile", "iam:TagInstanceProfile", "iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile",
		),
		s.pass("HandOnRoles", passed...),
		allow("MakeSpotRole", []string{spot}, "iam:CreateServiceLinkedRole").when("StringEquals", "iam:AWSServiceName", "spot.amazonaws.com"),
	}
}

// keeps are what outlives machines: buckets, secrets and logs.
func (s Scope) keeps() []Statement {
	buckets := []string{s.bucket(s.controlBucket())}
	if s.DataBucket == "" {
		buckets = append(buckets, s.bucket(s.dataBucket()))
	}
	var objects []string
	for _, b := range buckets {
		objects = append(objects, b+"/*")
	}
	out := []Statement{
		allow(
			"Buckets", buckets,
			"s3:ListBucket", "s3:ListBucketVersions", "s3:ListBucketMultipartUploads", "s3:GetBucketTagging", "s3:GetEncryptionConfiguration",
			"s3:GetBucketVersioning", "s3:GetBucketPublicAccessBlock", "s3:GetBucketPolicy", "s3:GetBucketLocation",
			"s3:CreateBucket", "s3:TagResource", "s3:PutBucketTagging", "s3:PutEncryptionConfiguration", "s3:PutBucketVersioning",
			"s3:PutBucketPublicAccessBlock", "s3:PutBucketPolicy", "s3:DeleteBucket",
		),
		allow("Objects", objects, "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:AbortMultipartUpload"),
		allow(
			"Secrets", []string{s.ownSecrets()},
			"secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue", "secretsmanager:CreateSecret", "secretsmanager:TagResource",
			"secretsmanager:PutSecretValue", "secretsmanager:DeleteSecret", "secretsmanager:RestoreSecret",
		),
	}
	return append(out, s.uses()...)
}

// uses are logs, and what was there before: that is looked at, and not changed.
func (s Scope) uses() []Statement {
	logs := []string{"logs:FilterLogEvents"}
	if s.LogGroup == "" {
		logs = append(
			logs, "logs:ListTagsForResource", "logs:CreateLogGroup", "logs:TagResource",
			"logs:PutRetentionPolicy", "logs:DeleteRetentionPolicy", "logs:DeleteLogGroup",
		)
	}
	out := []Statement{allow("Logs", s.logGroup(), logs...)}
	if s.DataBucket != "" {
		out = append(out, allow("LookAtGivenBucket", []string{s.bucket(s.DataBucket)}, "s3:ListBucket"))
	}
	if given := s.readableSecrets()[1:]; len(given) > 0 {
		out = append(out, allow("ReadGivenSecrets", given, "secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"))
	}
	return out
}
