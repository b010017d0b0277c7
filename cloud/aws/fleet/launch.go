package fleet

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
)

// tokenLimit is EC2's maximum number of characters in a client token.
const tokenLimit = 64

// Launch implements cloud.Instances. It returns a Conflict error if the token was used before with
// a different configuration of the pool. The instances of that earlier call, if any, are listed
// with the token.
func (f *Fleet) Launch(ctx context.Context, l cloud.Launch) ([]cloud.Instance, error) {
	if err := l.Check(tokenLimit); err != nil {
		return nil, &cloud.Error{Kind: cloud.Invalid, Op: "ec2:RunInstances", Err: err}
	}
	root, err := f.rootDevice(ctx)
	if err != nil {
		return nil, err
	}
	out, err := f.ec2.RunInstances(ctx, f.launchRequest(l, root))
	if err != nil {
		return nil, err
	}
	granted := make([]cloud.Instance, 0, len(out.Instances))
	for _, i := range out.Instances {
		m := f.toInstance(i)
		m.Offer = l.Offer // the response may lack fields that a later list has
		granted = append(granted, m)
	}
	return granted, nil
}

// launchRequest returns the RunInstances request. It sets all tags and protections in this one
// call, so that no instance exists without them.
func (f *Fleet) launchRequest(l cloud.Launch, root string) *ec2.RunInstancesInput {
	in := &ec2.RunInstancesInput{
		ClientToken:  &l.Token,
		MinCount:     aws.Int32(1),
		MaxCount:     aws.Int32(int32(min(l.Count, 1<<16))), //nolint:gosec // bounded
		ImageId:      &f.cfg.Image,
		InstanceType: types.InstanceType(l.Offer.Type),
		UserData:     aws.String(base64.StdEncoding.EncodeToString(f.cfg.UserData)),
		// An instance that shuts itself down is terminated, including its volume.
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
		// Containers are one hop further away than their instance, so the hop limit is two.
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(2),
		},
		BlockDeviceMappings: []types.BlockDeviceMapping{{
			DeviceName: &root,
			Ebs: &types.EbsBlockDevice{
				VolumeSize: aws.Int32(int32(f.cfg.RootGB)), VolumeType: types.VolumeTypeGp3, //nolint:gosec // disks are smaller than 2^31 GB
				Encrypted: aws.Bool(true), DeleteOnTermination: aws.Bool(true),
			},
		}},
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{f.networkInterface(l.Offer.Zone)},
		TagSpecifications: f.launchTags(l.Offer.Price),
	}
	if zone := l.Offer.Zone; zone != "" && !isSubnet(zone) {
		in.Placement = &types.Placement{AvailabilityZone: &zone}
	}
	if f.cfg.Key != "" {
		in.KeyName = &f.cfg.Key
	}
	if f.cfg.ProfileARN != "" {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Arn: &f.cfg.ProfileARN}
	}
	if l.Offer.Price == cloud.Spot {
		in.InstanceMarketOptions = f.marketOptions()
	}
	return in
}

func isSubnet(zone string) bool { return strings.HasPrefix(zone, "subnet-") }

func (f *Fleet) networkInterface(zone string) types.InstanceNetworkInterfaceSpecification {
	n := types.InstanceNetworkInterfaceSpecification{
		DeviceIndex: aws.Int32(0), AssociatePublicIpAddress: &f.cfg.PublicIP, DeleteOnTermination: aws.Bool(true),
	}
	if isSubnet(zone) {
		n.SubnetId = &zone
	}
	if f.cfg.Group != "" {
		n.Groups = []string{f.cfg.Group}
	}
	return n
}

// marketOptions returns the options of a one-time spot request, which is fulfilled or rejected
// immediately.
func (f *Fleet) marketOptions() *types.InstanceMarketOptionsRequest {
	spot := &types.SpotMarketOptions{
		SpotInstanceType: types.SpotInstanceTypeOneTime, InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorTerminate,
	}
	if f.cfg.MaxPrice != "" {
		spot.MaxPrice = &f.cfg.MaxPrice
	}
	return &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: spot}
}

// launchTags returns the tags of all resources that a launch creates.
func (f *Fleet) launchTags(price cloud.Price) []types.TagSpecification {
	var tags []types.Tag
	for _, t := range f.cfg.instanceTags() {
		tags = append(tags, types.Tag{Key: &t.Key, Value: &t.Value})
	}
	marked := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume}
	if price == cloud.Spot {
		marked = append(marked, types.ResourceTypeSpotInstancesRequest)
	}
	var out []types.TagSpecification
	for _, kind := range marked {
		out = append(out, types.TagSpecification{ResourceType: kind, Tags: tags})
	}
	return out
}
