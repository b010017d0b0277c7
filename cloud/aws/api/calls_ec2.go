package api

import "github.com/det-deploy/det-deploy/cloud/edge"

func ec2Reads() edge.Calls {
	return edge.Calls{
		edge.Reads("ec2:DescribeRegions"),
		edge.Reads("ec2:DescribeAvailabilityZones"),
		edge.Reads("ec2:DescribeVpcs"),
		edge.Reads("ec2:DescribeSubnets"),
		edge.Reads("ec2:DescribeInternetGateways"),
		edge.Reads("ec2:DescribeRouteTables"),
		edge.Reads("ec2:DescribeVpcEndpoints"),
		edge.Reads("ec2:DescribeSecurityGroups"),
		edge.Reads("ec2:DescribeNetworkInterfaces"),
		edge.Reads("ec2:DescribeAddresses"),
		edge.Reads("ec2:DescribeInstances"),
		edge.Reads("ec2:DescribeInstanceTypes"),
		edge.Reads("ec2:DescribeInstanceTypeOfferings"),
		edge.Reads("ec2:DescribeImages"),
		edge.Reads("ec2:DescribeKeyPairs"),
		edge.Reads("ec2:DescribeVolumes"),
		edge.Reads("ec2:DescribeSnapshots"),
		edge.Reads("ec2:DescribeSpotInstanceRequests"),
		edge.Reads("ec2:GetConsoleOutput"),
		edge.Reads("ec2:GetEbsDefaultKmsKeyId"),
	}
}

// ec2Writes: whatever creates tags what it creates in the same call, which
// needs ec2:CreateTags as well.
func ec2Writes() edge.Calls {
	tagged := func(op string, more ...string) edge.Call {
		return edge.Writes(op, append([]string{op, "ec2:CreateTags"}, more...)...)
	}
	return edge.Calls{
		tagged("ec2:CreateVpc"),
		edge.Writes("ec2:DeleteVpc"),
		tagged("ec2:CreateSubnet"),
		edge.Writes("ec2:DeleteSubnet"),
		tagged("ec2:CreateInternetGateway"),
		edge.Writes("ec2:AttachInternetGateway"),
		edge.Writes("ec2:DetachInternetGateway"),
		edge.Writes("ec2:DeleteInternetGateway"),
		tagged("ec2:CreateRouteTable"),
		edge.Writes("ec2:CreateRoute"),
		edge.Writes("ec2:ReplaceRoute"),
		edge.Writes("ec2:AssociateRouteTable"),
		edge.Writes("ec2:DisassociateRouteTable"),
		edge.Writes("ec2:DeleteRouteTable"),
		tagged("ec2:CreateVpcEndpoint"),
		edge.Writes("ec2:DeleteVpcEndpoints"),
		tagged("ec2:CreateSecurityGroup"),
		edge.Writes("ec2:AuthorizeSecurityGroupIngress"),
		edge.Writes("ec2:AuthorizeSecurityGroupEgress"),
		edge.Writes("ec2:RevokeSecurityGroupIngress"),
		edge.Writes("ec2:RevokeSecurityGroupEgress"),
		edge.Writes("ec2:DeleteSecurityGroup"),
		edge.Writes("ec2:DeleteNetworkInterface"),
		tagged("ec2:AllocateAddress"),
		edge.Writes("ec2:AssociateAddress"),
		edge.Writes("ec2:DisassociateAddress"),
		edge.Writes("ec2:ReleaseAddress"),
		// The master's machine has a role, and the caller that launches it passes it.
		tagged("ec2:RunInstances", "iam:PassRole"),
		edge.Writes("ec2:StartInstances"),
		edge.Writes("ec2:StopInstances"),
		edge.Writes("ec2:TerminateInstances"),
		edge.Writes("ec2:ModifyInstanceMetadataOptions"),
		edge.Writes("ec2:ModifyInstanceAttribute"),
		tagged("ec2:CreateVolume"),
		edge.Writes("ec2:AttachVolume"),
		edge.Writes("ec2:DetachVolume"),
		edge.Writes("ec2:ModifyVolume"),
		edge.Writes("ec2:DeleteVolume"),
		tagged("ec2:CreateSnapshot"),
		edge.Writes("ec2:DeleteSnapshot"),
		edge.Writes("ec2:CancelSpotInstanceRequests"),
		edge.Writes("ec2:CreateTags"),
		edge.Writes("ec2:DeleteTags"),
	}
}
