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
	for _, look := range []func(context.Context) error{s.instance, s.network, s.subnets, s.groups, s.volume} {
		if err := look(ctx); err != nil {
			return hosted.Recovered{}, fmt.Errorf("read the cluster's settings off its objects: %w", err)
		}
	}
	if !s.any {
		return hosted.Recovered{}, nil
	}
	return s.recovered()
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

func (s *sightings) recovered() (hosted.Recovered, error) {
	s.settings["region"] = s.t.Clients.Region
	settings, err := hosted.Remember(s.settings, s.known)
	return hosted.Recovered{Settings: settings}, err
}

// mine is the filter for what carries the cluster's mark.
func (s *sightings) mine() []types.Filter {
	return []types.Filter{{Name: aws.String("tag:" + owner.ClusterTag), Values: []string{s.t.Spec.Cluster}}}
}

// instance reads the master's machine.
func (s *sightings) instance(ctx context.Context) error {
	p := ec2.NewDescribeInstancesPaginator(s.t.Clients.EC2, &ec2.DescribeInstancesInput{Filters: s.mine()})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				s.master(i)
			}
		}
	}
	return nil
}

func (s *sightings) master(i types.Instance) {
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

// network reads whether the network is the cluster's own.
func (s *sightings) network(ctx context.Context) error {
	out, err := s.t.Clients.EC2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: s.mine()})
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

// subnets reads the zones of an own network.
func (s *sightings) subnets(ctx context.Context) error {
	var all []types.Subnet
	p := ec2.NewDescribeSubnetsPaginator(s.t.Clients.EC2, &ec2.DescribeSubnetsInput{Filters: s.mine()})
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
			if address(n) == part(cidr, i).Addr() {
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

func address(n types.Subnet) netip.Addr {
	p, err := netip.ParsePrefix(aws.ToString(n.CidrBlock))
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr()
}

// groups reads who may reach the master.
func (s *sightings) groups(ctx context.Context) error {
	p := ec2.NewDescribeSecurityGroupsPaginator(s.t.Clients.EC2, &ec2.DescribeSecurityGroupsInput{Filters: s.mine()})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, g := range page.SecurityGroups {
			if tagsOf(g.Tags)[owner.ResourceTag] == "master" {
				s.any = true
				s.inbound(g.IpPermissions)
			}
		}
	}
	return nil
}

func (s *sightings) inbound(ps []types.IpPermission) {
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

// volume reads the data volume.
func (s *sightings) volume(ctx context.Context) error {
	p := ec2.NewDescribeVolumesPaginator(s.t.Clients.EC2, &ec2.DescribeVolumesInput{Filters: s.mine()})
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
