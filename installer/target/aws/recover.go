package aws

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/owner"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// Recover reads a cluster's settings back: from the copy in the control bucket, or
// else off its live objects. Settings are nil when there is no cluster. It changes
// nothing.
func (t *Target) Recover(ctx context.Context) (hosted.Recovered, error) {
	r, found, err := t.ReadCopy(ctx)
	if err != nil || found {
		return r, err
	}
	s := &sightings{t: t, settings: map[string]string{}, known: Known{}}
	for _, look := range []func(context.Context) error{s.readInstance, s.readNetwork, s.readSubnets, s.readSecurityGroups, s.readVolume} {
		if err := look(ctx); err != nil {
			return hosted.Recovered{}, fmt.Errorf("read the cluster's settings off its objects: %w", err)
		}
	}
	if !s.any {
		return hosted.Recovered{}, nil
	}
	return s.recoveredSettings()
}

// sightings is what live objects say of a cluster's settings.
type sightings struct {
	t        *Target
	settings map[string]string
	known    Known
	// any is true when something of the cluster is there.
	any bool
	// vpc is the network of the master's machine, subnet its place in it.
	vpc, subnet string
}

func (s *sightings) recoveredSettings() (hosted.Recovered, error) {
	s.settings["region"] = s.t.Clients.Region
	settings, err := hosted.Remember(s.settings, s.known)
	return hosted.Recovered{Settings: settings}, err
}

// markFilter filters for the cluster's tag.
func (s *sightings) markFilter() []types.Filter {
	return []types.Filter{{Name: aws.String("tag:" + owner.ClusterTag), Values: []string{s.t.Spec.Cluster}}}
}

// readInstance reads the master's machine.
func (s *sightings) readInstance(ctx context.Context) error {
	p := ec2.NewDescribeInstancesPaginator(s.t.Clients.EC2, &ec2.DescribeInstancesInput{Filters: s.markFilter()})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				s.readMaster(i)
			}
		}
	}
	return nil
}

func (s *sightings) readMaster(i types.Instance) {
	tags := tagsOf(i.Tags)
	ended := i.State != nil && (i.State.Name == types.InstanceStateNameTerminated || i.State.Name == types.InstanceStateNameShuttingDown)
	if tags[owner.ResourceTag] != "master" || ended {
		return
	}
	s.any = true
	s.settings["master-instance-type"] = string(i.InstanceType)
	if key := aws.ToString(i.KeyName); key != "" {
		s.settings["key-pair"] = key
	}
	if i.Placement != nil {
		s.known.Master.Zone = aws.ToString(i.Placement.AvailabilityZone)
	}
	s.vpc, s.subnet = aws.ToString(i.VpcId), aws.ToString(i.SubnetId)
	var more []string
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if !strings.HasPrefix(k, "det-deploy-") && k != owner.NameTag && !strings.HasPrefix(k, "aws:") {
			more = append(more, k+"="+tags[k])
		}
	}
	if len(more) > 0 {
		s.settings["tag"] = strings.Join(more, ",")
	}
}

// readNetwork reads whether the cluster manages its network.
func (s *sightings) readNetwork(ctx context.Context) error {
	out, err := s.t.Clients.EC2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: s.markFilter()})
	if err != nil {
		return err
	}
	for _, v := range out.Vpcs {
		if tagsOf(v.Tags)[owner.ClusterTag] == s.t.Spec.Cluster {
			s.any = true
			s.settings["network-cidr"] = aws.ToString(v.CidrBlock)
			return nil
		}
	}
	if s.vpc != "" {
		s.settings["vpc"], s.settings["subnet"] = s.vpc, s.subnet
	}
	return nil
}

// readSubnets reads the zones of a managed network.
func (s *sightings) readSubnets(ctx context.Context) error {
	var all []types.Subnet
	p := ec2.NewDescribeSubnetsPaginator(s.t.Clients.EC2, &ec2.DescribeSubnetsInput{Filters: s.markFilter()})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		all = append(all, page.Subnets...)
	}
	cidr, err := netip.ParsePrefix(s.settings["network-cidr"])
	if err != nil {
		return nil //nolint:nilerr // the network is none of the cluster's own
	}
	s.known.Zones = byAddress(cidr, all)
	return nil
}

// byAddress is the zones of subnets in the order in which a network's addresses
// were cut up, with empty ones between them where nothing is.
func byAddress(cidr netip.Prefix, all []types.Subnet) []string {
	var out []string
	for i := range parts {
		zone := ""
		for _, n := range all {
			if firstAddress(n) == partOf(cidr, i).Addr() {
				zone = aws.ToString(n.AvailabilityZone)
			}
		}
		out = append(out, zone)
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

func firstAddress(n types.Subnet) netip.Addr {
	p, err := netip.ParsePrefix(aws.ToString(n.CidrBlock))
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr()
}

// readSecurityGroups reads which ranges may reach the master.
func (s *sightings) readSecurityGroups(ctx context.Context) error {
	p := ec2.NewDescribeSecurityGroupsPaginator(s.t.Clients.EC2, &ec2.DescribeSecurityGroupsInput{Filters: s.markFilter()})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, g := range page.SecurityGroups {
			if tagsOf(g.Tags)[owner.ResourceTag] == "master" {
				s.any = true
				s.readInbound(g.IpPermissions)
			}
		}
	}
	return nil
}

func (s *sightings) readInbound(ps []types.IpPermission) {
	var ranges []string
	for _, p := range ps {
		for _, r := range p.IpRanges {
			switch aws.ToInt32(p.FromPort) {
			case hosted.MasterPort:
				ranges = append(ranges, aws.ToString(r.CidrIp))
			case 22:
				s.settings["ssh"] = "true"
			}
		}
	}
	slices.Sort(ranges)
	if len(ranges) > 0 {
		s.settings["inbound-cidr"] = strings.Join(slices.Compact(ranges), ",")
	}
}

func (s *sightings) readVolume(ctx context.Context) error {
	p := ec2.NewDescribeVolumesPaginator(s.t.Clients.EC2, &ec2.DescribeVolumesInput{Filters: s.markFilter()})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, v := range page.Volumes {
			if tagsOf(v.Tags)[owner.ResourceTag] != "data" {
				continue
			}
			s.any = true
			s.settings["data-volume-size"] = strconv.Itoa(int(aws.ToInt32(v.Size)))
			s.known.Master.Zone = aws.ToString(v.AvailabilityZone)
			if from := aws.ToString(v.SnapshotId); from != "" {
				s.settings["data-snapshot"] = from
			}
		}
	}
	return nil
}

func tagsOf(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}
