package policy

import "slices"

// Caller returns the policies for the user who installs, updates and deletes a cluster. There are
// two, because one would exceed IAM's size limit.
func Caller(s Scope) []Named {
	return []Named{
		{"caller-machines", newDocument(slices.Concat(s.readStatements(), s.createStatements(), s.changeStatements(), s.useKeys())...)},
		{"caller-roles-and-data", newDocument(slices.Concat(s.roleStatements(), s.storageStatements())...)},
	}
}

// readStatements allows read-only calls that IAM cannot restrict to one cluster.
func (s Scope) readStatements() []Statement {
	return []Statement{
		allowActions(
			"Look", []string{"*"},
			"ec2:DescribeRegions", "ec2:DescribeAvailabilityZones", "ec2:DescribeVpcs", "ec2:DescribeSubnets",
			"ec2:DescribeInternetGateways", "ec2:DescribeRouteTables", "ec2:DescribeVpcEndpoints", "ec2:DescribeSecurityGroups",
			"ec2:DescribeNetworkInterfaces", "ec2:DescribeAddresses", "ec2:DescribeInstances", "ec2:DescribeInstanceTypes",
			"ec2:DescribeInstanceTypeOfferings", "ec2:DescribeImages", "ec2:DescribeKeyPairs", "ec2:DescribeVolumes",
			"ec2:DescribeSnapshots", "ec2:DescribeSpotInstanceRequests", "ec2:GetEbsDefaultKmsKeyId",
			"iam:ListRoles", "iam:ListInstanceProfiles", "iam:SimulatePrincipalPolicy",
			"s3:ListAllMyBuckets", "secretsmanager:ListSecrets", "logs:DescribeLogGroups", "servicequotas:GetServiceQuota",
		),
		// The public parameters with image IDs.
		allowActions("FindImages", []string{"arn:" + orDefault(s.Partition, "aws") + ":ssm:" + orDefault(s.Region, "*") + "::parameter/aws/service/*"}, "ssm:GetParameter"),
	}
}

// createStatements allows creating calls. The created objects must carry the cluster's tag; the
// objects that they refer to may belong to any account.
func (s Scope) createStatements() []Statement {
	// The ARN of a snapshot contains no account ID.
	made := append(s.ec2ARNs("snapshot"), s.resourceARN("ec2", "*"))
	creates := []string{
		"ec2:CreateVpc", "ec2:CreateSubnet", "ec2:CreateInternetGateway", "ec2:CreateRouteTable", "ec2:CreateVpcEndpoint",
		"ec2:CreateSecurityGroup", "ec2:AllocateAddress", "ec2:RunInstances", "ec2:CreateVolume", "ec2:CreateSnapshot",
	}
	var names []string
	for _, c := range creates {
		names = append(names, c[len("ec2:"):])
	}
	return []Statement{
		s.whenRequestTagged(allowActions("MakeMarked", made, creates...)),
		allowActions("MakeInNetwork", s.ec2ARNs("vpc"), "ec2:CreateSubnet", "ec2:CreateRouteTable", "ec2:CreateVpcEndpoint", "ec2:CreateSecurityGroup"),
		allowActions("MakeOnRoutes", s.ec2ARNs("route-table"), "ec2:CreateVpcEndpoint"),
		allowActions("MakeMachineFrom", s.ec2ARNs("image", "snapshot", "subnet", "security-group", "key-pair"), "ec2:RunInstances"),
		allowActions("MakeVolumeFrom", s.ec2ARNs("snapshot"), "ec2:CreateVolume"),
		s.whenResourceTagged(allowActions("MakeSnapshotOf", s.ec2ARNs("volume"), "ec2:CreateSnapshot")),
		allowActions("MarkWhatIsMade", made, "ec2:CreateTags").withCondition("StringEquals", "ec2:CreateAction", names...),
	}
}

// changeStatements allows calls on objects with the cluster's tag.
func (s Scope) changeStatements() []Statement {
	out := []Statement{s.whenResourceTagged(allowActions(
		"ChangeOwn", append(s.ec2ARNs("snapshot"), s.resourceARN("ec2", "*")),
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
		// An upgrade first creates a snapshot of the volume.
		out = append(out, allowActions("UseGivenVolume", []string{s.resourceARN("ec2", "volume/"+s.Volume)}, "ec2:AttachVolume", "ec2:DetachVolume", "ec2:CreateSnapshot"))
	}
	return out
}

// roleStatements allows managing the cluster's roles and passing them to their services.
func (s Scope) roleStatements() []Statement {
	spot := "arn:" + orDefault(s.Partition, "aws") + ":iam::" + orDefault(s.Account, "*") + ":role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"
	passed, seen := []string{s.iamARN("role")}, []string{s.iamARN("role"), s.iamARN("instance-profile"), spot}
	for _, given := range []string{s.MasterRole, s.AgentRole} {
		if given != "" {
			passed, seen = append(passed, given), append(seen, given)
		}
	}
	if len(passed) > 1 { // a role's instance profile may have another name than the role
		seen = append(seen, "arn:"+orDefault(s.Partition, "aws")+":iam::"+orDefault(s.Account, "*")+":instance-profile/*")
	}
	return []Statement{
		allowActions(
			"LookAtRoles", seen,
			"iam:GetRole", "iam:GetRolePolicy", "iam:ListRolePolicies", "iam:ListAttachedRolePolicies", "iam:GetInstanceProfile",
		),
		allowActions(
			"MakeRoles", []string{s.iamARN("role"), s.iamARN("instance-profile")},
			"iam:CreateRole", "iam:TagRole", "iam:UpdateAssumeRolePolicy", "iam:PutRolePolicy", "iam:DeleteRolePolicy",
			"iam:DetachRolePolicy", "iam:DeleteRole",
			"iam:CreateInstanceProfile", "iam:TagInstanceProfile", "iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile",
		),
		s.passRole("HandOnRoles", passed...),
		allowActions("MakeSpotRole", []string{spot}, "iam:CreateServiceLinkedRole").withCondition("StringEquals", "iam:AWSServiceName", "spot.amazonaws.com"),
	}
}

// storageStatements allows managing objects that outlive instances: buckets, secrets and logs.
func (s Scope) storageStatements() []Statement {
	buckets := []string{s.bucketARN(s.controlBucket())}
	if s.DataBucket == "" {
		buckets = append(buckets, s.bucketARN(s.dataBucket()))
	}
	var objects []string
	for _, b := range buckets {
		objects = append(objects, b+"/*")
	}
	out := []Statement{
		allowActions(
			"Buckets", buckets,
			"s3:ListBucket", "s3:ListBucketVersions", "s3:ListBucketMultipartUploads", "s3:GetBucketTagging", "s3:GetEncryptionConfiguration",
			"s3:GetBucketVersioning", "s3:GetBucketPublicAccessBlock", "s3:GetBucketPolicy", "s3:GetBucketLocation",
			"s3:CreateBucket", "s3:TagResource", "s3:PutBucketTagging", "s3:PutEncryptionConfiguration", "s3:PutBucketVersioning",
			"s3:PutBucketPublicAccessBlock", "s3:PutBucketPolicy", "s3:DeleteBucket",
		),
		allowActions("Objects", objects, "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:AbortMultipartUpload"),
		allowActions(
			"Secrets", []string{s.ownSecrets()},
			"secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue", "secretsmanager:CreateSecret", "secretsmanager:TagResource",
			"secretsmanager:PutSecretValue", "secretsmanager:DeleteSecret", "secretsmanager:RestoreSecret",
		),
	}
	return append(out, s.existingStatements()...)
}

// existingStatements allows logs and reading existing resources of the user.
func (s Scope) existingStatements() []Statement {
	logs := []string{"logs:FilterLogEvents"}
	if s.LogGroup == "" {
		logs = append(
			logs, "logs:ListTagsForResource", "logs:CreateLogGroup", "logs:TagResource",
			"logs:PutRetentionPolicy", "logs:DeleteRetentionPolicy", "logs:DeleteLogGroup",
		)
	}
	out := []Statement{allowActions("Logs", s.logGroup(), logs...)}
	if s.DataBucket != "" {
		out = append(out, allowActions("LookAtGivenBucket", []string{s.bucketARN(s.DataBucket)}, "s3:ListBucket"))
	}
	if given := s.readableSecrets()[1:]; len(given) > 0 {
		out = append(out, allowActions("ReadGivenSecrets", given, "secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"))
	}
	return out
}
