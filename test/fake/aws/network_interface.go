package awstest

import (
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func nicLook() look[types.NetworkInterface] {
	return look[types.NetworkInterface]{
		absent: "InvalidNetworkInterfaceID.NotFound",
		tags:   func(v types.NetworkInterface) []types.Tag { return v.TagSet },
		field: func(v types.NetworkInterface, name string) (out []string, ok bool) {
			switch name {
			case "network-interface-id":
				return []string{*v.NetworkInterfaceId}, true
			case "vpc-id":
				return []string{*v.VpcId}, true
			case "subnet-id":
				return []string{*v.SubnetId}, true
			case "status":
				return []string{string(v.Status)}, true
			case "description":
				return []string{aws.ToString(v.Description)}, true
			case "attachment.instance-id":
				if v.Attachment != nil {
					out = []string{aws.ToString(v.Attachment.InstanceId)}
				}
				return out, true
			case "group-id":
				for _, g := range v.Groups {
					out = append(out, *g.GroupId)
				}
				return out, true
			}
			return nil, false
		},
	}
}

func (s *site) describeNetworkInterfaces(in *ec2.DescribeNetworkInterfacesInput) (*ec2.DescribeNetworkInterfacesOutput, error) {
	all, err := find(s.net.nics, in.NetworkInterfaceIds, in.Filters, nicLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeNetworkInterfacesOutput{NetworkInterfaces: some, NextToken: next}, err
}

func (s *site) deleteNetworkInterface(in *ec2.DeleteNetworkInterfaceInput) (*ec2.DeleteNetworkInterfaceOutput, error) {
	id := aws.ToString(in.NetworkInterfaceId)
	n, ok := s.net.nics.get(id)
	if !ok {
		return nil, refuse(400, "InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '"+id+"' does not exist")
	}
	if n.Attachment != nil {
		return nil, refuse(400, "InvalidNetworkInterface.InUse", "The network interface '"+id+"' is currently in use.")
	}
	s.net.nics.remove(id)
	return &ec2.DeleteNetworkInterfaceOutput{}, nil
}

// GiveInterface adds an unattached network interface in a subnet and groups of the world's region,
// as some AWS services leave behind.
func (w *World) GiveInterface(subnet string, tags map[string]string, groups ...string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.site(w.opt.Region)
	sub, ok := s.net.subnets.get(subnet)
	if !ok {
		return ""
	}
	id := s.id("eni")
	n := types.NetworkInterface{
		NetworkInterfaceId: &id, SubnetId: sub.SubnetId, VpcId: sub.VpcId, AvailabilityZone: sub.AvailabilityZone,
		Status: types.NetworkInterfaceStatusAvailable, PrivateIpAddress: aws.String(s.privateIP(*sub.CidrBlock)),
	}
	for _, g := range groups {
		n.Groups = append(n.Groups, types.GroupIdentifier{GroupId: aws.String(g)})
	}
	for k, v := range tags {
		n.TagSet = append(n.TagSet, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	s.net.nics.add(id, n)
	return id
}

// addInterface creates the network interface of an instance.
func (s *site) addInterface(instance string, l launch) types.NetworkInterface {
	id := s.id("eni")
	sub := l.subnet
	n := types.NetworkInterface{
		NetworkInterfaceId: &id, SubnetId: sub.SubnetId, VpcId: sub.VpcId, AvailabilityZone: sub.AvailabilityZone,
		Status: types.NetworkInterfaceStatusInUse, Groups: l.groups, PrivateIpAddress: aws.String(s.privateIP(*sub.CidrBlock)),
		Attachment: &types.NetworkInterfaceAttachment{InstanceId: &instance, DeviceIndex: aws.Int32(0), DeleteOnTermination: aws.Bool(true), Status: types.AttachmentStatusAttached},
		TagSet:     tagged(l.in.TagSpecifications, types.ResourceTypeNetworkInterface),
	}
	if l.public {
		n.Association = &types.NetworkInterfaceAssociation{PublicIp: aws.String(s.publicIP()), IpOwnerId: aws.String("amazon")}
	}
	return *s.net.nics.add(id, n)
}

// nicOf returns the network interface of an instance, or nil if it was deleted.
func (s *site) nicOf(instance string) *types.NetworkInterface {
	for _, n := range s.net.nics.all() {
		if n.Attachment != nil && aws.ToString(n.Attachment.InstanceId) == instance {
			return n
		}
	}
	return nil
}

// privateIP returns an address of a CIDR block. Amazon reserves the first four addresses and the
// last one.
func (s *site) privateIP(cidr string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "" // subnets are validated at creation
	}
	s.serial++
	a := p.Addr().As4()
	room := 1<<(32-p.Bits()) - 5
	n := 4 + s.serial%room
	a[2], a[3] = a[2]+byte(n>>8), a[3]+byte(n)
	return netip.AddrFrom4(a).String()
}

// publicIP returns an address of the block reserved for documentation, where no host can be reached
// by mistake.
func (s *site) publicIP() string {
	s.serial++
	return fmt.Sprintf("203.0.113.%d", 1+s.serial%254)
}
