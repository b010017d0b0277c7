package awstest

import (
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// netState holds the networks of a region.
type netState struct {
	vpcs      *table[types.Vpc]
	subnets   *table[types.Subnet]
	gateways  *table[types.InternetGateway]
	routes    *table[types.RouteTable]
	endpoints *table[types.VpcEndpoint]
	groups    *table[types.SecurityGroup]
	nics      *table[types.NetworkInterface]
	addresses *table[types.Address]
	leaving   map[string]time.Time // VPC endpoints that are being deleted
}

func newNet(w *World) netState {
	return netState{
		vpcs: &table[types.Vpc]{w: w}, subnets: &table[types.Subnet]{w: w},
		gateways: &table[types.InternetGateway]{w: w}, routes: &table[types.RouteTable]{w: w},
		endpoints: &table[types.VpcEndpoint]{w: w}, groups: &table[types.SecurityGroup]{w: w},
		nics: &table[types.NetworkInterface]{w: w}, addresses: &table[types.Address]{w: w},
		leaving: make(map[string]time.Time),
	}
}

// zones returns the zones of the region. Almost all EC2 regions have three or more.
func (s *site) zones() []string { return []string{s.region + "a", s.region + "b", s.region + "c"} }

// makeDefaultVPC creates the default VPC of a new account, with an internet gateway and one subnet
// per zone.
func (s *site) makeDefaultVPC() {
	vpc := s.id("vpc")
	s.net.vpcs.give(vpc, types.Vpc{VpcId: &vpc, CidrBlock: aws.String("172.31.0.0/16"), IsDefault: aws.Bool(true), State: types.VpcStateAvailable, OwnerId: aws.String(Account)})
	igw := s.id("igw")
	s.net.gateways.give(igw, types.InternetGateway{InternetGatewayId: &igw, Attachments: []types.InternetGatewayAttachment{{VpcId: &vpc, State: types.AttachmentStatus("available")}}})
	rt := s.mainTable(vpc, "172.31.0.0/16")
	rt.Routes = append(rt.Routes, types.Route{DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: &igw, State: types.RouteStateActive, Origin: types.RouteOriginCreateRoute})
	s.net.routes.give(*rt.RouteTableId, rt)
	g := s.defaultGroup(vpc)
	s.net.groups.give(*g.GroupId, g)
	for i, z := range s.zones() {
		id := s.id("subnet")
		cidr := netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 31, byte(16 * i), 0}), 20).String()
		s.net.subnets.give(id, types.Subnet{
			SubnetId: &id, VpcId: &vpc, CidrBlock: &cidr, AvailabilityZone: aws.String(z), AvailabilityZoneId: aws.String(zoneID(z)),
			DefaultForAz: aws.Bool(true), MapPublicIpOnLaunch: aws.Bool(true), State: types.SubnetStateAvailable,
			AvailableIpAddressCount: aws.Int32(4091), OwnerId: aws.String(Account),
		})
	}
}

// overlap reports whether two CIDR blocks overlap.
func overlap(a, b string) bool {
	p, errP := netip.ParsePrefix(a)
	q, errQ := netip.ParsePrefix(b)
	return errP == nil && errQ == nil && p.Overlaps(q)
}

// within reports whether a CIDR block contains another.
func within(inner, outer string) bool {
	p, errP := netip.ParsePrefix(inner)
	q, errQ := netip.ParsePrefix(outer)
	return errP == nil && errQ == nil && q.Contains(p.Addr()) && p.Bits() >= q.Bits()
}

// block validates a CIDR block like EC2: a network address with a prefix from /16 to /28.
func block(cidr string) bool {
	p, err := netip.ParsePrefix(cidr)
	return err == nil && p.Masked() == p && p.Bits() >= 16 && p.Bits() <= 28
}
