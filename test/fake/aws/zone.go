package awstest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func regions() []string { return []string{"eu-west-1", "us-east-1", "us-west-2"} }

func (s *site) describeRegions(in *ec2.DescribeRegionsInput) (*ec2.DescribeRegionsOutput, error) {
	out := &ec2.DescribeRegionsOutput{}
	for _, r := range regions() {
		if len(in.RegionNames) == 0 || slices.Contains(in.RegionNames, r) {
			out.Regions = append(out.Regions, types.Region{RegionName: aws.String(r), OptInStatus: aws.String("opt-in-not-required"), Endpoint: aws.String("ec2." + r + ".amazonaws.com")})
		}
	}
	for _, r := range in.RegionNames {
		if !slices.Contains(regions(), r) {
			return nil, invalid("Invalid region name: %s", r)
		}
	}
	return out, nil
}

// zoneID returns the zone ID, which is the same for all accounts.
func zoneID(zone string) string { return "az-" + zone }

func zoneLook() look[types.AvailabilityZone] {
	return look[types.AvailabilityZone]{field: func(v types.AvailabilityZone, name string) ([]string, bool) {
		switch name {
		case "zone-name":
			return []string{*v.ZoneName}, true
		case "state":
			return []string{string(v.State)}, true
		case "zone-type":
			return []string{*v.ZoneType}, true
		case "opt-in-status":
			return []string{string(v.OptInStatus)}, true
		case "region-name":
			return []string{*v.RegionName}, true
		}
		return nil, false
	}}
}

func (s *site) describeZones(in *ec2.DescribeAvailabilityZonesInput) (*ec2.DescribeAvailabilityZonesOutput, error) {
	var all []types.AvailabilityZone
	for _, z := range s.zones() {
		if len(in.ZoneNames) == 0 || slices.Contains(in.ZoneNames, z) {
			all = append(all, types.AvailabilityZone{
				ZoneName: aws.String(z), ZoneId: aws.String(zoneID(z)), RegionName: aws.String(s.region), ZoneType: aws.String("availability-zone"),
				State: types.AvailabilityZoneStateAvailable, OptInStatus: types.AvailabilityZoneOptInStatusOptInNotRequired,
			})
		}
	}
	for _, z := range in.ZoneNames {
		if !slices.Contains(s.zones(), z) {
			return nil, invalid("Invalid availability zone: [%s]", z)
		}
	}
	all, err := filterObjects(all, in.Filters, zoneLook())
	return &ec2.DescribeAvailabilityZonesOutput{AvailabilityZones: all}, err
}
