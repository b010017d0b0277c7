package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// EC2 is the part of the EC2 API that det-deploy uses.
type EC2 interface {
	// Read-only calls.
	DescribeRegions(ctx context.Context, in *ec2.DescribeRegionsInput, o ...func(*ec2.Options)) (*ec2.DescribeRegionsOutput, error)
	DescribeAvailabilityZones(ctx context.Context, in *ec2.DescribeAvailabilityZonesInput, o ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error)
	DescribeVpcs(ctx context.Context, in *ec2.DescribeVpcsInput, o ...func(*ec2.Options)) (*ec2.DescribeVpcsOutput, error)
	DescribeSubnets(ctx context.Context, in *ec2.DescribeSubnetsInput, o ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
	DescribeInternetGateways(ctx context.Context, in *ec2.DescribeInternetGatewaysInput, o ...func(*ec2.Options)) (*ec2.DescribeInternetGatewaysOutput, error)
	DescribeRouteTables(ctx context.Context, in *ec2.DescribeRouteTablesInput, o ...func(*ec2.Options)) (*ec2.DescribeRouteTablesOutput, error)
	DescribeVpcEndpoints(ctx context.Context, in *ec2.DescribeVpcEndpointsInput, o ...func(*ec2.Options)) (*ec2.DescribeVpcEndpointsOutput, error)
	DescribeSecurityGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput, o ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error)
	DescribeNetworkInterfaces(ctx context.Context, in *ec2.DescribeNetworkInterfacesInput, o ...func(*ec2.Options)) (*ec2.DescribeNetworkInterfacesOutput, error)
	DescribeAddresses(ctx context.Context, in *ec2.DescribeAddressesInput, o ...func(*ec2.Options)) (*ec2.DescribeAddressesOutput, error)
	DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	DescribeInstanceTypes(ctx context.Context, in *ec2.DescribeInstanceTypesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error)
	DescribeInstanceTypeOfferings(ctx context.Context, in *ec2.DescribeInstanceTypeOfferingsInput, o ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error)
	DescribeImages(ctx context.Context, in *ec2.DescribeImagesInput, o ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
	DescribeKeyPairs(ctx context.Context, in *ec2.DescribeKeyPairsInput, o ...func(*ec2.Options)) (*ec2.DescribeKeyPairsOutput, error)
	DescribeVolumes(ctx context.Context, in *ec2.DescribeVolumesInput, o ...func(*ec2.Options)) (*ec2.DescribeVolumesOutput, error)
	DescribeSnapshots(ctx context.Context, in *ec2.DescribeSnapshotsInput, o ...func(*ec2.Options)) (*ec2.DescribeSnapshotsOutput, error)
	DescribeSpotInstanceRequests(ctx context.Context, in *ec2.DescribeSpotInstanceRequestsInput, o ...func(*ec2.Options)) (*ec2.DescribeSpotInstanceRequestsOutput, error)
	GetConsoleOutput(ctx context.Context, in *ec2.GetConsoleOutputInput, o ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error)
	GetEbsDefaultKmsKeyId(ctx context.Context, in *ec2.GetEbsDefaultKmsKeyIdInput, o ...func(*ec2.Options)) (*ec2.GetEbsDefaultKmsKeyIdOutput, error)

	// Modifying calls, which pass the gate.
	CreateVpc(ctx context.Context, in *ec2.CreateVpcInput, o ...func(*ec2.Options)) (*ec2.CreateVpcOutput, error)
	DeleteVpc(ctx context.Context, in *ec2.DeleteVpcInput, o ...func(*ec2.Options)) (*ec2.DeleteVpcOutput, error)
	CreateSubnet(ctx context.Context, in *ec2.CreateSubnetInput, o ...func(*ec2.Options)) (*ec2.CreateSubnetOutput, error)
	DeleteSubnet(ctx context.Context, in *ec2.DeleteSubnetInput, o ...func(*ec2.Options)) (*ec2.DeleteSubnetOutput, error)
	CreateInternetGateway(ctx context.Context, in *ec2.CreateInternetGatewayInput, o ...func(*ec2.Options)) (*ec2.CreateInternetGatewayOutput, error)
	AttachInternetGateway(ctx context.Context, in *ec2.AttachInternetGatewayInput, o ...func(*ec2.Options)) (*ec2.AttachInternetGatewayOutput, error)
	DetachInternetGateway(ctx context.Context, in *ec2.DetachInternetGatewayInput, o ...func(*ec2.Options)) (*ec2.DetachInternetGatewayOutput, error)
	DeleteInternetGateway(ctx context.Context, in *ec2.DeleteInternetGatewayInput, o ...func(*ec2.Options)) (*ec2.DeleteInternetGatewayOutput, error)
	CreateRouteTable(ctx context.Context, in *ec2.CreateRouteTableInput, o ...func(*ec2.Options)) (*ec2.CreateRouteTableOutput, error)
	CreateRoute(ctx context.Context, in *ec2.CreateRouteInput, o ...func(*ec2.Options)) (*ec2.CreateRouteOutput, error)
	ReplaceRoute(ctx context.Context, in *ec2.ReplaceRouteInput, o ...func(*ec2.Options)) (*ec2.ReplaceRouteOutput, error)
	AssociateRouteTable(ctx context.Context, in *ec2.AssociateRouteTableInput, o ...func(*ec2.Options)) (*ec2.AssociateRouteTableOutput, error)
	DisassociateRouteTable(ctx context.Context, in *ec2.DisassociateRouteTableInput, o ...func(*ec2.Options)) (*ec2.DisassociateRouteTableOutput, error)
	DeleteRouteTable(ctx context.Context, in *ec2.DeleteRouteTableInput, o ...func(*ec2.Options)) (*ec2.DeleteRouteTableOutput, error)
	CreateVpcEndpoint(ctx context.Context, in *ec2.CreateVpcEndpointInput, o ...func(*ec2.Options)) (*ec2.CreateVpcEndpointOutput, error)
	DeleteVpcEndpoints(ctx context.Context, in *ec2.DeleteVpcEndpointsInput, o ...func(*ec2.Options)) (*ec2.DeleteVpcEndpointsOutput, error)
	CreateSecurityGroup(ctx context.Context, in *ec2.CreateSecurityGroupInput, o ...func(*ec2.Options)) (*ec2.CreateSecurityGroupOutput, error)
	AuthorizeSecurityGroupIngress(ctx context.Context, in *ec2.AuthorizeSecurityGroupIngressInput, o ...func(*ec2.Options)) (*ec2.AuthorizeSecurityGroupIngressOutput, error)
	AuthorizeSecurityGroupEgress(ctx context.Context, in *ec2.AuthorizeSecurityGroupEgressInput, o ...func(*ec2.Options)) (*ec2.AuthorizeSecurityGroupEgressOutput, error)
	RevokeSecurityGroupIngress(ctx context.Context, in *ec2.RevokeSecurityGroupIngressInput, o ...func(*ec2.Options)) (*ec2.RevokeSecurityGroupIngressOutput, error)
	RevokeSecurityGroupEgress(ctx context.Context, in *ec2.RevokeSecurityGroupEgressInput, o ...func(*ec2.Options)) (*ec2.RevokeSecurityGroupEgressOutput, error)
	DeleteSecurityGroup(ctx context.Context, in *ec2.DeleteSecurityGroupInput, o ...func(*ec2.Options)) (*ec2.DeleteSecurityGroupOutput, error)
	DeleteNetworkInterface(ctx context.Context, in *ec2.DeleteNetworkInterfaceInput, o ...func(*ec2.Options)) (*ec2.DeleteNetworkInterfaceOutput, error)
	AllocateAddress(ctx context.Context, in *ec2.AllocateAddressInput, o ...func(*ec2.Options)) (*ec2.AllocateAddressOutput, error)
	AssociateAddress(ctx context.Context, in *ec2.AssociateAddressInput, o ...func(*ec2.Options)) (*ec2.AssociateAddressOutput, error)
	DisassociateAddress(ctx context.Context, in *ec2.DisassociateAddressInput, o ...func(*ec2.Options)) (*ec2.DisassociateAddressOutput, error)
	ReleaseAddress(ctx context.Context, in *ec2.ReleaseAddressInput, o ...func(*ec2.Options)) (*ec2.ReleaseAddressOutput, error)
	RunInstances(ctx context.Context, in *ec2.RunInstancesInput, o ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
	StartInstances(ctx context.Context, in *ec2.StartInstancesInput, o ...func(*ec2.Options)) (*ec2.StartInstancesOutput, error)
	StopInstances(ctx context.Context, in *ec2.StopInstancesInput, o ...func(*ec2.Options)) (*ec2.StopInstancesOutput, error)
	TerminateInstances(ctx context.Context, in *ec2.TerminateInstancesInput, o ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
	ModifyInstanceAttribute(ctx context.Context, in *ec2.ModifyInstanceAttributeInput, o ...func(*ec2.Options)) (*ec2.ModifyInstanceAttributeOutput, error)
	ModifyInstanceMetadataOptions(ctx context.Context, in *ec2.ModifyInstanceMetadataOptionsInput, o ...func(*ec2.Options)) (*ec2.ModifyInstanceMetadataOptionsOutput, error)
	CreateVolume(ctx context.Context, in *ec2.CreateVolumeInput, o ...func(*ec2.Options)) (*ec2.CreateVolumeOutput, error)
	AttachVolume(ctx context.Context, in *ec2.AttachVolumeInput, o ...func(*ec2.Options)) (*ec2.AttachVolumeOutput, error)
	DetachVolume(ctx context.Context, in *ec2.DetachVolumeInput, o ...func(*ec2.Options)) (*ec2.DetachVolumeOutput, error)
	ModifyVolume(ctx context.Context, in *ec2.ModifyVolumeInput, o ...func(*ec2.Options)) (*ec2.ModifyVolumeOutput, error)
	DeleteVolume(ctx context.Context, in *ec2.DeleteVolumeInput, o ...func(*ec2.Options)) (*ec2.DeleteVolumeOutput, error)
	CreateSnapshot(ctx context.Context, in *ec2.CreateSnapshotInput, o ...func(*ec2.Options)) (*ec2.CreateSnapshotOutput, error)
	DeleteSnapshot(ctx context.Context, in *ec2.DeleteSnapshotInput, o ...func(*ec2.Options)) (*ec2.DeleteSnapshotOutput, error)
	CancelSpotInstanceRequests(ctx context.Context, in *ec2.CancelSpotInstanceRequestsInput, o ...func(*ec2.Options)) (*ec2.CancelSpotInstanceRequestsOutput, error)
	CreateTags(ctx context.Context, in *ec2.CreateTagsInput, o ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
	DeleteTags(ctx context.Context, in *ec2.DeleteTagsInput, o ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error)
}

var _ EC2 = (*ec2.Client)(nil)

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

// ec2Writes lists the modifying calls. All creating calls set tags, which requires ec2:CreateTags.
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
		// The master's instance has a role, which requires iam:PassRole for the caller that
		// launches it.
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
