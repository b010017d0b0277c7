package awstest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func addressLook() look[types.Address] {
	return look[types.Address]{
		absent: "InvalidAllocationID.NotFound",
		tags:   func(v types.Address) []types.Tag { return v.Tags },
		field: func(v types.Address, name string) ([]string, bool) {
			switch name {
			case "allocation-id":
				return []string{*v.AllocationId}, true
			case "association-id":
				return []string{aws.ToString(v.AssociationId)}, true
			case "public-ip":
				return []string{*v.PublicIp}, true
			case "instance-id":
				return []string{aws.ToString(v.InstanceId)}, true
			case "domain":
				return []string{string(v.Domain)}, true
			}
			return nil, false
		},
	}
}

// describeAddresses returns a single page.
func (s *site) describeAddresses(in *ec2.DescribeAddressesInput) (*ec2.DescribeAddressesOutput, error) {
	all, err := find(s.net.addresses, in.AllocationIds, in.Filters, addressLook())
	return &ec2.DescribeAddressesOutput{Addresses: all}, err
}

// allocateAddress has no idempotency token: two calls allocate two addresses.
func (s *site) allocateAddress(in *ec2.AllocateAddressInput) (*ec2.AllocateAddressOutput, error) {
	if len(s.net.addresses.all()) >= int(s.quotas["L-0263D0A3"]) {
		return nil, refuse(400, "AddressLimitExceeded", "The maximum number of addresses has been reached.")
	}
	id, ip := s.id("eipalloc"), s.publicIP()
	s.net.addresses.add(id, types.Address{AllocationId: &id, PublicIp: &ip, Domain: types.DomainTypeVpc, Tags: tagged(in.TagSpecifications, types.ResourceTypeElasticIp)})
	return &ec2.AllocateAddressOutput{AllocationId: &id, PublicIp: &ip, Domain: types.DomainTypeVpc}, nil
}

func (s *site) noAddress(id *string) error {
	return refuse(400, "InvalidAllocationID.NotFound", "The allocation ID '"+aws.ToString(id)+"' does not exist")
}

func (s *site) associateAddress(in *ec2.AssociateAddressInput) (*ec2.AssociateAddressOutput, error) {
	a, ok := s.net.addresses.ask(aws.ToString(in.AllocationId))
	if !ok {
		return nil, s.noAddress(in.AllocationId)
	}
	m, ok := s.ec2.instances.ask(aws.ToString(in.InstanceId))
	if !ok {
		return nil, noInstance(aws.ToString(in.InstanceId))
	}
	nic := s.nicOf(*m.InstanceId)
	if st := m.State.Name; nic == nil || st != types.InstanceStateNameRunning && st != types.InstanceStateNameStopped {
		return nil, refuse(400, "InvalidInstanceID", "The "+string(st)+" instance '"+*m.InstanceId+"' is not in a valid state for this operation.")
	}
	if !s.hasGateway(aws.ToString(nic.VpcId)) {
		return nil, refuse(400, "Gateway.NotAttached", "Network "+*nic.VpcId+" is not attached to any internet gateway")
	}
	if a.AssociationId != nil {
		if aws.ToString(a.InstanceId) == *m.InstanceId {
			return &ec2.AssociateAddressOutput{AssociationId: a.AssociationId}, nil
		}
		if in.AllowReassociation != nil && !*in.AllowReassociation {
			return nil, refuse(400, "Resource.AlreadyAssociated", "resource "+*a.AllocationId+" is already associated with associate-id "+*a.AssociationId)
		}
		s.unmap(a)
	}
	a.AssociationId, a.InstanceId, a.NetworkInterfaceId = aws.String(s.id("eipassoc")), m.InstanceId, nic.NetworkInterfaceId
	a.PrivateIpAddress, m.PublicIpAddress = nic.PrivateIpAddress, a.PublicIp
	nic.Association = &types.NetworkInterfaceAssociation{PublicIp: a.PublicIp, AllocationId: a.AllocationId, AssociationId: a.AssociationId, IpOwnerId: aws.String(Account)}
	return &ec2.AssociateAddressOutput{AssociationId: a.AssociationId}, nil
}

// hasGateway reports whether a VPC has an internet gateway.
func (s *site) hasGateway(vpc string) bool {
	return slices.ContainsFunc(s.net.gateways.all(), func(g *types.InternetGateway) bool { return attachedTo(*g) == vpc })
}

// unmap disassociates an address.
func (s *site) unmap(a *types.Address) {
	if n, ok := s.net.nics.get(aws.ToString(a.NetworkInterfaceId)); ok {
		n.Association = nil
	}
	if m, ok := s.ec2.instances.get(aws.ToString(a.InstanceId)); ok {
		m.PublicIpAddress = nil
	}
	a.AssociationId, a.InstanceId, a.NetworkInterfaceId, a.PrivateIpAddress = nil, nil, nil, nil
}

func (s *site) disassociateAddress(in *ec2.DisassociateAddressInput) (*ec2.DisassociateAddressOutput, error) {
	for _, a := range s.net.addresses.all() {
		if a.AssociationId != nil && *a.AssociationId == aws.ToString(in.AssociationId) {
			s.unmap(a)
			return &ec2.DisassociateAddressOutput{}, nil
		}
	}
	return nil, refuse(400, "InvalidAssociationID.NotFound", "The association ID '"+aws.ToString(in.AssociationId)+"' does not exist")
}

func (s *site) releaseAddress(in *ec2.ReleaseAddressInput) (*ec2.ReleaseAddressOutput, error) {
	a, ok := s.net.addresses.get(aws.ToString(in.AllocationId))
	if !ok {
		return nil, s.noAddress(in.AllocationId)
	}
	if a.AssociationId != nil {
		return nil, refuse(400, "InvalidIPAddress.InUse", "Address "+*a.PublicIp+" is in use.")
	}
	s.net.addresses.remove(*a.AllocationId)
	return &ec2.ReleaseAddressOutput{}, nil
}
