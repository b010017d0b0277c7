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

// tokenLimit is how many characters EC2 takes in a client token.
const tokenLimit = 64

// Launch implements cloud.Instances. A Conflict for a token that was sent before
// means that the pool is configured otherwise than it was then; what it made, if
// anything, is listed with the token.
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
		m.Offer = l.Offer // the reply may lack what a later list knows
		granted = append(granted, m)
	}
	return granted, nil
}

// launchRequest is the one call: everything that marks and protects a machine is said
// by the call that makes it, so that none exists without.
func (f *Fleet) launchRequest(l cloud.Launch, root string) *ec2.RunInstancesInput {
	in := &ec2.RunInstancesInput{
		ClientToken:  &l.Token,
		MinCount:     aws.Int32(1),
		MaxCount:     aws.Int32(int32(min(l.Count, 1<<16))), //nolint:gosec // bounded
		ImageId:      &f.cfg.Image,
		InstanceType: types.InstanceType(l.Offer.Type),
		UserData:     aws.String(base64.StdEncoding.EncodeToString(f.cfg.UserData)),
		// A machine that powers itself off goes away, disk and all.
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
		// Two hops reach containers, which have one more than their machine.
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpTokens: types.HttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(2),
		},
		BlockDeviceMappings: []types.BlockDeviceMapping{{
			DeviceName: &root,
			Ebs: &types.EbsBlockDevice{
				VolumeSize: aws.Int32(int32(f.cfg.RootGB)), VolumeType: types.VolumeTypeGp3, //nolint:gosec // a disk has no two billion GB
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

// marketOptions request a machine that is granted now or refused now: a one-time
// request without an end of its own.
func (f *Fleet) marketOptions() *types.InstanceMarketOptionsRequest {
	spot := &types.SpotMarketOptions{
		SpotInstanceType: types.SpotInstanceTypeOneTime, InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorTerminate,
	}
	if f.cfg.MaxPrice != "" {
		spot.MaxPrice = &f.cfg.MaxPrice
	}
	return &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: spot}
}

// launchTags are the tags of everything that a launch makes.
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
