package api

func ec2Looks() []Call {
	return []Call{
		looks("ec2:DescribeRegions"),
		looks("ec2:DescribeAvailabilityZones"),
		looks("ec2:DescribeVpcs"),
		looks("ec2:DescribeSubnets"),
		looks("ec2:DescribeInternetGateways"),
		looks("ec2:DescribeRouteTables"),
		looks("ec2:DescribeVpcEndpoints"),
		looks("ec2:DescribeSecurityGroups"),
		looks("ec2:DescribeNetworkInterfaces"),
		looks("ec2:DescribeAddresses"),
		looks("ec2:DescribeInstances"),
		looks("ec2:DescribeInstanceTypes"),
		looks("ec2:DescribeInstanceTypeOfferings"),
		looks("ec2:DescribeImages"),
		looks("ec2:DescribeKeyPairs"),
		looks("ec2:DescribeVolumes"),
		looks("ec2:DescribeSnapshots"),
		looks("ec2:DescribeSpotInstanceRequests"),
		looks("ec2:GetConsoleOutput"),
		looks("ec2:GetEbsDefaultKmsKeyId"),
	}
}

// ec2Changes: whatever creates tags what it creates in the same call, which
// needs ec2:CreateTags as well.
func ec2Changes() []Call {
	tagged := func(op string, more ...string) Call {
		return alters(op, append([]string{op, "ec2:CreateTags"}, more...)...)
	}
	return []Call{
		tagged("ec2:CreateVpc"),
		alters("ec2:DeleteVpc"),
		tagged("ec2:CreateSubnet"),
		alters("ec2:DeleteSubnet"),
		tagged("ec2:CreateInternetGateway"),
		alters("ec2:AttachInternetGateway"),
		alters("ec2:DetachInternetGateway"),
		alters("ec2:DeleteInternetGateway"),
		tagged("ec2:CreateRouteTable"),
		alters("ec2:CreateRoute"),
		alters("ec2:ReplaceRoute"),
		alters("ec2:AssociateRouteTable"),
		alters("ec2:DisassociateRouteTable"),
		alters("ec2:DeleteRouteTable"),
		tagged("ec2:CreateVpcEndpoint"),
		alters("ec2:DeleteVpcEndpoints"),
		tagged("ec2:CreateSecurityGroup"),
		alters("ec2:AuthorizeSecurityGroupIngress"),
		alters("ec2:AuthorizeSecurityGroupEgress"),
		alters("ec2:RevokeSecurityGroupIngress"),
		alters("ec2:RevokeSecurityGroupEgress"),
		alters("ec2:DeleteSecurityGroup"),
		alters("ec2:DeleteNetworkInterface"),
		tagged("ec2:AllocateAddress"),
		alters("ec2:AssociateAddress"),
		alters("ec2:DisassociateAddress"),
		alters("ec2:ReleaseAddress"),
		// The master's machine has a role, and whoever starts it hands it on.
		tagged("ec2:RunInstances", "iam:PassRole"),
		alters("ec2:StartInstances"),
		alters("ec2:StopInstances"),
		alters("ec2:TerminateInstances"),
		alters("ec2:ModifyInstanceMetadataOptions"),
		alters("ec2:ModifyInstanceAttribute"),
		tagged("ec2:CreateVolume"),
		alters("ec2:AttachVolume"),
		alters("ec2:DetachVolume"),
		alters("ec2:ModifyVolume"),
		alters("ec2:DeleteVolume"),
		tagged("ec2:CreateSnapshot"),
		alters("ec2:DeleteSnapshot"),
		alters("ec2:CancelSpotInstanceRequests"),
		alters("ec2:CreateTags"),
		alters("ec2:DeleteTags"),
	}
}
