package awstest

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// launch is a RunInstances request with its references resolved.
type launch struct {
	in      *ec2.RunInstancesInput
	model   model
	image   types.Image
	subnet  types.Subnet
	groups  []types.GroupIdentifier
	profile *types.IamInstanceProfile
	public  bool
	spot    bool
	count   int
}

// runInstances is idempotent by its client token.
func (s *site) runInstances(in *ec2.RunInstancesInput) (*ec2.RunInstancesOutput, error) {
	asked, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	token := aws.ToString(in.ClientToken)
	if before, ok := s.ec2.asked[token]; ok && token != "" {
		if before != string(asked) {
			return nil, refuse(400, "IdempotentParameterMismatch", "The client token you have provided is associated with a resource that is already deleted, or with other parameters.")
		}
		return s.sameAgain(token), nil
	}
	l, err := s.look(in)
	if err != nil {
		return nil, err
	}
	if err := s.room(&l); err != nil {
		return nil, err
	}
	reservation := s.id("r")
	out := &ec2.RunInstancesOutput{ReservationId: &reservation, OwnerId: aws.String(Account)}
	for i := range l.count {
		out.Instances = append(out.Instances, s.boot(l, reservation, i))
	}
	if token != "" {
		s.ec2.asked[token] = string(asked)
	}
	return out, nil
}

func (s *site) sameAgain(token string) *ec2.RunInstancesOutput {
	out := &ec2.RunInstancesOutput{OwnerId: aws.String(Account)}
	for _, r := range s.ec2.instances.rows {
		if aws.ToString(r.v.ClientToken) == token {
			out.Instances = append(out.Instances, *r.v)
			out.ReservationId = aws.String(s.ec2.machines[r.id].reservation)
		}
	}
	return out
}

// look resolves all references of a launch.
func (s *site) look(in *ec2.RunInstancesInput) (launch, error) {
	l := launch{in: in, spot: in.InstanceMarketOptions != nil && in.InstanceMarketOptions.MarketType == types.MarketTypeSpot}
	var known bool
	if l.model, known = modelOf(string(in.InstanceType)); !known {
		return l, invalid("Invalid value '%s' for InstanceType.", in.InstanceType)
	}
	if l.image, known = s.imageOf(aws.ToString(in.ImageId)); !known {
		return l, refuse(400, "InvalidAMIID.NotFound", "The image id '["+aws.ToString(in.ImageId)+"]' does not exist")
	}
	if string(l.image.Architecture) != string(l.model.arch) {
		return l, invalid("The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI.", l.model.arch, l.image.Architecture)
	}
	if in.KeyName != nil {
		if _, ok := s.ec2.keys.get(*in.KeyName); !ok {
			return l, refuse(400, "InvalidKeyPair.NotFound", "The key pair '"+*in.KeyName+"' does not exist")
		}
	}
	data, err := base64.StdEncoding.DecodeString(aws.ToString(in.UserData))
	if err != nil {
		return l, invalid("Invalid BASE64 encoding of user data.")
	}
	if len(data) > 16384 {
		return l, invalid("User data is limited to 16384 bytes")
	}
	if err := s.place(&l); err != nil {
		return l, err
	}
	if !l.model.in(*l.subnet.AvailabilityZone) {
		return l, refuse(400, "Unsupported", "Your requested instance type ("+l.model.name+") is not supported in your requested Availability Zone ("+*l.subnet.AvailabilityZone+").")
	}
	l.profile, err = s.profileOf(in.IamInstanceProfile)
	return l, err
}

// place resolves the subnet and the groups, which can be specified in two ways.
func (s *site) place(l *launch) error {
	subnet, groups := aws.ToString(l.in.SubnetId), l.in.SecurityGroupIds
	var public *bool
	if len(l.in.NetworkInterfaces) > 0 {
		if subnet != "" || len(groups) > 0 {
			return refuse(400, "InvalidParameterCombination", "Network interfaces and an instance-level subnet ID or security groups may not be specified on the same request")
		}
		n := l.in.NetworkInterfaces[0]
		subnet, groups, public = aws.ToString(n.SubnetId), n.Groups, n.AssociatePublicIpAddress
	}
	sub, err := s.subnetFor(subnet, l.in.Placement)
	if err != nil {
		return err
	}
	l.subnet = *sub
	l.public = aws.ToBool(sub.MapPublicIpOnLaunch)
	if public != nil {
		l.public = *public
	}
	l.groups, err = s.groupsOf(groups, *sub.VpcId)
	return err
}

func (s *site) subnetFor(id string, p *types.Placement) (*types.Subnet, error) {
	if id != "" {
		sub, ok := s.net.subnets.ask(id)
		if !ok {
			return nil, refuse(400, "InvalidSubnetID.NotFound", "The subnet ID '"+id+"' does not exist")
		}
		return sub, nil
	}
	for _, sub := range s.net.subnets.all() {
		if aws.ToBool(sub.DefaultForAz) && (p == nil || p.AvailabilityZone == nil || *p.AvailabilityZone == *sub.AvailabilityZone) {
			return sub, nil
		}
	}
	return nil, refuse(400, "VPCIdNotSpecified", "No default VPC for this user")
}

// groupsOf returns groups of one VPC. Without IDs it returns the default group.
func (s *site) groupsOf(ids []string, vpc string) ([]types.GroupIdentifier, error) {
	var out []types.GroupIdentifier
	for _, id := range ids {
		g, ok := s.net.groups.ask(id)
		if !ok {
			return nil, s.noGroup(id)
		}
		if *g.VpcId != vpc {
			return nil, refuse(400, "InvalidParameter", "Security group "+id+" and subnet belong to different networks.")
		}
		out = append(out, types.GroupIdentifier{GroupId: g.GroupId, GroupName: g.GroupName})
	}
	if len(ids) == 0 {
		for _, g := range s.net.groups.all() {
			if *g.VpcId == vpc && *g.GroupName == "default" {
				out = append(out, types.GroupIdentifier{GroupId: g.GroupId, GroupName: g.GroupName})
			}
		}
	}
	return slices.Clip(out), nil
}
