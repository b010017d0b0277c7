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
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/network"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
)

// Recover reads the settings of a cluster from the copy in the control bucket, or else from its
// live objects. Settings are nil if the cluster does not exist. It changes nothing.
func (t *Target) Recover(ctx context.Context) (hosted.Recovered, error) {
	r, found, err := t.ReadCopy(ctx)
	if err != nil || found {
		return r, err
	}
	s, c := &liveSettings{settings: map[string]string{}}, t.cluster
	for _, look := range []func() error{
		func() error { return readMarked(ctx, compute.Masters(c), c.Resource("master"), s.readMaster) },
		func() error { return readMarked(ctx, network.VPCs(c), c.Owned(), s.readNetwork) },
		func() error { return readMarked(ctx, network.Subnets(c), c.Owned(), s.readSubnet) },
		func() error { return readMarked(ctx, network.Groups(c), c.Resource("master"), s.readSecurityGroup) },
		func() error { return readMarked(ctx, storage.Volumes(c), c.Resource("data"), s.readVolume) },
	} {
		if err := look(); err != nil {
			return hosted.Recovered{}, fmt.Errorf("recover the cluster's settings from its objects: %w", err)
		}
	}
	if len(s.settings) == 0 {
		return hosted.Recovered{}, nil
	}
	s.settings["region"] = t.Clients.Region
	settings, err := hosted.Remember(s.settings, s.known())
	return hosted.Recovered{Settings: settings}, err
}

// readMarked reads every live object of a kind that has the marks. If there are several, as when a
// machine was copied with its tags, the one in use is read last, so that its values win.
func readMarked[T any](ctx context.Context, k infra.Kind[T], marks map[string]string, read func(T)) error {
	all, err := k.All(ctx, marks)
	for _, live := range slices.Backward(all) {
		read(live.Object)
	}
	return err
}

// liveSettings holds the settings of a cluster as read from its live objects.
type liveSettings struct {
	settings map[string]string
	// zone is that of the master, vpc the network of its machine, and subnet the machine's subnet.
	zone, vpc, subnet string
	subnets           []types.Subnet
}

// known returns the facts that are not settings: the master's zone, and the zones of a managed
// network.
func (s *liveSettings) known() layout.Known {
	k := layout.Known{Master: layout.MasterPlace{Zone: s.zone}}
	if cidr, err := netip.ParsePrefix(s.settings["network-cidr"]); err == nil {
		k.Zones = byAddress(cidr, s.subnets)
	} else if s.vpc != "" {
		s.settings["vpc"], s.settings["subnet"] = s.vpc, s.subnet
	}
	return k
}

func (s *liveSettings) readMaster(i types.Instance) {
	s.settings["master-instance-type"] = string(i.InstanceType)
	if key := aws.ToString(i.KeyName); key != "" {
		s.settings["key-pair"] = key
	}
	if i.Placement != nil {
		s.zone = aws.ToString(i.Placement.AvailabilityZone)
	}
	s.vpc, s.subnet = aws.ToString(i.VpcId), aws.ToString(i.SubnetId)
	var more []string
	tags := mark.EC2TagMap(i.Tags)
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if !strings.HasPrefix(k, "det-deploy-") && k != mark.NameTag && !strings.HasPrefix(k, "aws:") {
			more = append(more, k+"="+tags[k])
		}
	}
	if len(more) > 0 {
		s.settings["tag"] = strings.Join(more, ",")
	}
}

func (s *liveSettings) readNetwork(v types.Vpc) {
	s.settings["network-cidr"] = aws.ToString(v.CidrBlock)
}

func (s *liveSettings) readSubnet(n types.Subnet) { s.subnets = append(s.subnets, n) }

// byAddress returns the zones of subnets in the order of their address ranges, with "" for a range
// without a subnet.
func byAddress(cidr netip.Prefix, all []types.Subnet) []string {
	var out []string
	for i := range layout.Parts {
		zone := ""
		for _, n := range all {
			if firstAddress(n) == layout.PartOf(cidr, i).Addr() {
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

// readSecurityGroup reads the address ranges that may reach the master.
func (s *liveSettings) readSecurityGroup(g types.SecurityGroup) {
	var ranges []string
	for _, p := range g.IpPermissions {
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

func (s *liveSettings) readVolume(v types.Volume) {
	s.settings["data-volume-size"] = strconv.Itoa(int(aws.ToInt32(v.Size)))
	s.zone = aws.ToString(v.AvailabilityZone)
	if from := aws.ToString(v.SnapshotId); from != "" {
		s.settings["data-snapshot"] = from
	}
}
