package awstest

import "maps"

// act implements one call.
type act func(s *site, in any) (any, error)

func on[In, Out any](f func(*site, *In) (*Out, error)) act {
	return func(s *site, in any) (any, error) {
		out, err := f(s, in.(*In)) // the table maps names to inputs; a test makes each call
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

// acts returns the implementations of all calls. A test compares it with the list of calls.
func acts() map[string]act {
	out := make(map[string]act)
	for _, m := range []map[string]act{lookActs(), netActs(), machineActs(), iamActs(), bucketActs(), otherActs()} {
		maps.Copy(out, m)
	}
	return out
}

func lookActs() map[string]act {
	return map[string]act{
		"ec2:DescribeRegions":               on((*site).describeRegions),
		"ec2:DescribeAvailabilityZones":     on((*site).describeZones),
		"ec2:DescribeVpcs":                  on((*site).describeVpcs),
		"ec2:DescribeSubnets":               on((*site).describeSubnets),
		"ec2:DescribeInternetGateways":      on((*site).describeInternetGateways),
		"ec2:DescribeRouteTables":           on((*site).describeRouteTables),
		"ec2:DescribeVpcEndpoints":          on((*site).describeVpcEndpoints),
		"ec2:DescribeSecurityGroups":        on((*site).describeSecurityGroups),
		"ec2:DescribeNetworkInterfaces":     on((*site).describeNetworkInterfaces),
		"ec2:DescribeAddresses":             on((*site).describeAddresses),
		"ec2:DescribeInstances":             on((*site).describeInstances),
		"ec2:DescribeInstanceTypes":         on((*site).describeInstanceTypes),
		"ec2:DescribeInstanceTypeOfferings": on((*site).describeOfferings),
		"ec2:DescribeImages":                on((*site).describeImages),
		"ec2:DescribeKeyPairs":              on((*site).describeKeyPairs),
		"ec2:DescribeVolumes":               on((*site).describeVolumes),
		"ec2:DescribeSnapshots":             on((*site).describeSnapshots),
		"ec2:DescribeSpotInstanceRequests":  on((*site).describeSpotRequests),
		"ec2:GetConsoleOutput":              on((*site).getConsoleOutput),
		"ec2:GetEbsDefaultKmsKeyId":         on((*site).getDiskKey),
	}
}

func netActs() map[string]act {
	return map[string]act{
		"ec2:CreateVpc":                     on((*site).createVpc),
		"ec2:DeleteVpc":                     on((*site).deleteVpc),
		"ec2:CreateSubnet":                  on((*site).createSubnet),
		"ec2:DeleteSubnet":                  on((*site).deleteSubnet),
		"ec2:CreateInternetGateway":         on((*site).createInternetGateway),
		"ec2:AttachInternetGateway":         on((*site).attachInternetGateway),
		"ec2:DetachInternetGateway":         on((*site).detachInternetGateway),
		"ec2:DeleteInternetGateway":         on((*site).deleteInternetGateway),
		"ec2:CreateRouteTable":              on((*site).createRouteTable),
		"ec2:CreateRoute":                   on((*site).createRoute),
		"ec2:ReplaceRoute":                  on((*site).replaceRoute),
		"ec2:AssociateRouteTable":           on((*site).associateRouteTable),
		"ec2:DisassociateRouteTable":        on((*site).disassociateRouteTable),
		"ec2:DeleteRouteTable":              on((*site).deleteRouteTable),
		"ec2:CreateVpcEndpoint":             on((*site).createVpcEndpoint),
		"ec2:DeleteVpcEndpoints":            on((*site).deleteVpcEndpoints),
		"ec2:CreateSecurityGroup":           on((*site).createSecurityGroup),
		"ec2:AuthorizeSecurityGroupIngress": on((*site).authorizeIngress),
		"ec2:AuthorizeSecurityGroupEgress":  on((*site).authorizeEgress),
		"ec2:RevokeSecurityGroupIngress":    on((*site).revokeIngress),
		"ec2:RevokeSecurityGroupEgress":     on((*site).revokeEgress),
		"ec2:DeleteSecurityGroup":           on((*site).deleteSecurityGroup),
		"ec2:DeleteNetworkInterface":        on((*site).deleteNetworkInterface),
		"ec2:AllocateAddress":               on((*site).allocateAddress),
		"ec2:AssociateAddress":              on((*site).associateAddress),
		"ec2:DisassociateAddress":           on((*site).disassociateAddress),
		"ec2:ReleaseAddress":                on((*site).releaseAddress),
	}
}

func machineActs() map[string]act {
	return map[string]act{
		"ec2:RunInstances":                  on((*site).runInstances),
		"ec2:StartInstances":                on((*site).startInstances),
		"ec2:StopInstances":                 on((*site).stopInstances),
		"ec2:TerminateInstances":            on((*site).terminateInstances),
		"ec2:ModifyInstanceAttribute":       on((*site).modifyInstanceAttribute),
		"ec2:ModifyInstanceMetadataOptions": on((*site).modifyMetadata),
		"ec2:CreateVolume":                  on((*site).createVolume),
		"ec2:AttachVolume":                  on((*site).attachVolume),
		"ec2:DetachVolume":                  on((*site).detachVolume),
		"ec2:ModifyVolume":                  on((*site).modifyVolume),
		"ec2:DeleteVolume":                  on((*site).deleteVolume),
		"ec2:CreateSnapshot":                on((*site).createSnapshot),
		"ec2:DeleteSnapshot":                on((*site).deleteSnapshot),
		"ec2:CancelSpotInstanceRequests":    on((*site).cancelSpotRequests),
		"ec2:CreateTags":                    on((*site).createTags),
		"ec2:DeleteTags":                    on((*site).deleteTags),
	}
}

func iamActs() map[string]act {
	return map[string]act{
		"iam:GetRole":                       on((*site).getRole),
		"iam:ListRoles":                     on((*site).listRoles),
		"iam:GetRolePolicy":                 on((*site).getRolePolicy),
		"iam:ListRolePolicies":              on((*site).listRolePolicies),
		"iam:ListAttachedRolePolicies":      on((*site).listAttachedRolePolicies),
		"iam:GetInstanceProfile":            on((*site).getInstanceProfile),
		"iam:ListInstanceProfiles":          on((*site).listInstanceProfiles),
		"iam:SimulatePrincipalPolicy":       on((*site).simulate),
		"iam:CreateRole":                    on((*site).createRole),
		"iam:UpdateAssumeRolePolicy":        on((*site).updateAssumeRolePolicy),
		"iam:TagRole":                       on((*site).tagRole),
		"iam:PutRolePolicy":                 on((*site).putRolePolicy),
		"iam:DeleteRolePolicy":              on((*site).deleteRolePolicy),
		"iam:AttachRolePolicy":              on((*site).attachRolePolicy),
		"iam:DetachRolePolicy":              on((*site).detachRolePolicy),
		"iam:DeleteRole":                    on((*site).deleteRole),
		"iam:CreateInstanceProfile":         on((*site).createInstanceProfile),
		"iam:AddRoleToInstanceProfile":      on((*site).addRole),
		"iam:RemoveRoleFromInstanceProfile": on((*site).removeRole),
		"iam:DeleteInstanceProfile":         on((*site).deleteInstanceProfile),
		"iam:CreateServiceLinkedRole":       on((*site).createServiceLinkedRole),
	}
}

func bucketActs() map[string]act {
	return map[string]act{
		"s3:HeadBucket":           on((*site).headBucket),
		"s3:ListBuckets":          on((*site).listBuckets),
		"s3:GetBucketTagging":     on((*site).getBucketTagging),
		"s3:GetBucketEncryption":  on((*site).getBucketEncryption),
		"s3:GetBucketVersioning":  on((*site).getBucketVersioning),
		"s3:GetPublicAccessBlock": on((*site).getPublicAccessBlock),
		"s3:GetBucketPolicy":      on((*site).getBucketPolicy),
		"s3:GetBucketLocation":    on((*site).getBucketLocation),
		"s3:GetObject":            on((*site).getObject),
		"s3:HeadObject":           on((*site).headObject),
		"s3:ListObjectsV2":        on((*site).listObjects),
		"s3:ListObjectVersions":   on((*site).listVersions),
		"s3:ListMultipartUploads": on((*site).listUploads),
		"s3:CreateBucket":         on((*site).createBucket),
		"s3:PutBucketTagging":     on((*site).putBucketTagging),
		"s3:PutBucketEncryption":  on((*site).putBucketEncryption),
		"s3:PutBucketVersioning":  on((*site).putBucketVersioning),
		"s3:PutPublicAccessBlock": on((*site).putPublicAccessBlock),
		"s3:PutBucketPolicy":      on((*site).putBucketPolicy),
		"s3:DeleteBucket":         on((*site).deleteBucket),
		"s3:PutObject":            on((*site).putObject),
		"s3:DeleteObject":         on((*site).deleteObject),
		"s3:DeleteObjects":        on((*site).deleteObjects),
		"s3:AbortMultipartUpload": on((*site).abortUpload),
	}
}

func otherActs() map[string]act {
	return map[string]act{
		"secretsmanager:DescribeSecret": on((*site).describeSecret),
		"secretsmanager:ListSecrets":    on((*site).listSecrets),
		"secretsmanager:GetSecretValue": on((*site).getSecretValue),
		"secretsmanager:CreateSecret":   on((*site).createSecret),
		"secretsmanager:PutSecretValue": on((*site).putSecretValue),
		"secretsmanager:DeleteSecret":   on((*site).deleteSecret),
		"secretsmanager:RestoreSecret":  on((*site).restoreSecret),
		"secretsmanager:TagResource":    on((*site).tagSecret),
		"logs:DescribeLogGroups":        on((*site).describeLogGroups),
		"logs:ListTagsForResource":      on((*site).listLogTags),
		"logs:FilterLogEvents":          on((*site).filterLogEvents),
		"logs:CreateLogGroup":           on((*site).createLogGroup),
		"logs:PutRetentionPolicy":       on((*site).putRetention),
		"logs:DeleteRetentionPolicy":    on((*site).deleteRetention),
		"logs:TagResource":              on((*site).tagLogs),
		"logs:DeleteLogGroup":           on((*site).deleteLogGroup),
		"logs:CreateLogStream":          on((*site).createLogStream),
		"logs:PutLogEvents":             on((*site).putLogEvents),
		"sts:GetCallerIdentity":         on((*site).getCallerIdentity),
		"ssm:GetParameter":              on((*site).getParameter),
		"servicequotas:GetServiceQuota": on((*site).getServiceQuota),
		"cloudwatch:PutMetricData":      on((*site).putMetricData),
	}
}
