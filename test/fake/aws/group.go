package awstest

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// defaultGroup returns the default security group of a VPC.
func (s *site) defaultGroup(vpc string) types.SecurityGroup {
	return types.SecurityGroup{
		GroupId: aws.String(s.id("sg")), GroupName: aws.String("default"), Description: aws.String("default VPC security group"),
		VpcId: &vpc, OwnerId: aws.String(Account), IpPermissionsEgress: everywhere(),
	}
}

// everywhere returns the egress rule of a new group.
func everywhere() []types.IpPermission {
	return []types.IpPermission{{IpProtocol: aws.String("-1"), IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}}}
}

func groupLook() look[types.SecurityGroup] {
	return look[types.SecurityGroup]{
		absent: "InvalidGroup.NotFound",
		tags:   func(v types.SecurityGroup) []types.Tag { return v.Tags },
		field: func(v types.SecurityGroup, name string) ([]string, bool) {
			switch name {
			case "group-id":
				return []string{*v.GroupId}, true
			case "group-name":
				return []string{*v.GroupName}, true
			case "vpc-id":
				return []string{*v.VpcId}, true
			case "description":
				return []string{*v.Description}, true
			}
			return nil, false
		},
	}
}

func (s *site) describeSecurityGroups(in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
	all, err := find(s.net.groups, in.GroupIds, in.Filters, groupLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: some, NextToken: next}, err
}

func (s *site) createSecurityGroup(in *ec2.CreateSecurityGroupInput) (*ec2.CreateSecurityGroupOutput, error) {
	vpc, ok := s.net.vpcs.ask(aws.ToString(in.VpcId))
	if !ok {
		return nil, s.noVpc(in.VpcId)
	}
	name := aws.ToString(in.GroupName)
	if len(name) > 255 || len(name) > 2 && name[:3] == "sg-" {
		return nil, invalid("Value (%s) for parameter GroupName is invalid.", name)
	}
	for _, g := range s.net.groups.all() {
		if *g.VpcId == *vpc.VpcId && *g.GroupName == name {
			return nil, refuse(400, "InvalidGroup.Duplicate", "The security group '"+name+"' already exists for VPC '"+*vpc.VpcId+"'")
		}
	}
	id := s.id("sg")
	g := s.net.groups.add(id, types.SecurityGroup{
		GroupId: &id, GroupName: in.GroupName, Description: in.Description, VpcId: vpc.VpcId, OwnerId: aws.String(Account),
		IpPermissionsEgress: everywhere(), Tags: tagged(in.TagSpecifications, types.ResourceTypeSecurityGroup),
	})
	return &ec2.CreateSecurityGroupOutput{GroupId: &id, Tags: g.Tags, SecurityGroupArn: aws.String(s.arn("ec2", "security-group/"+id))}, nil
}

func (s *site) deleteSecurityGroup(in *ec2.DeleteSecurityGroupInput) (*ec2.DeleteSecurityGroupOutput, error) {
	id := aws.ToString(in.GroupId)
	g, ok := s.net.groups.get(id)
	if !ok {
		return nil, s.noGroup(id)
	}
	if *g.GroupName == "default" {
		return nil, refuse(400, "CannotDelete", "the specified group: \""+id+"\" name: \"default\" cannot be deleted by a user")
	}
	for _, n := range s.net.nics.all() {
		if slices.ContainsFunc(n.Groups, func(i types.GroupIdentifier) bool { return aws.ToString(i.GroupId) == id }) {
			return nil, violation("resource %s has a dependent object", id)
		}
	}
	for _, o := range s.net.groups.all() {
		if o != g && (mentions(o.IpPermissions, id) || mentions(o.IpPermissionsEgress, id)) {
			return nil, violation("resource %s has a dependent object", id)
		}
	}
	s.net.groups.remove(id)
	return &ec2.DeleteSecurityGroupOutput{GroupId: &id, Return: aws.Bool(true)}, nil
}

func mentions(ps []types.IpPermission, group string) bool {
	return slices.ContainsFunc(splitRules(ps), func(p permission) bool { return p.source == group })
}

func (s *site) noGroup(id string) error {
	return refuse(400, "InvalidGroup.NotFound", "The security group '"+id+"' does not exist")
}

// groupOf returns a group for a change of its rules.
func (s *site) groupOf(id *string) (*types.SecurityGroup, error) {
	g, ok := s.net.groups.ask(aws.ToString(id))
	if !ok {
		return nil, s.noGroup(aws.ToString(id))
	}
	return g, nil
}

// permission is one rule of a group with one protocol, port range and source.
type permission struct {
	protocol string
	from, to int32
	source   string // CIDR block or group ID
	text     string
}

func (p permission) same(o permission) bool {
	p.text, o.text = "", ""
	return p == o
}

func splitRules(in []types.IpPermission) []permission {
	var out []permission
	for _, i := range in {
		p := permission{protocol: cmp.Or(aws.ToString(i.IpProtocol), "-1"), from: -1, to: -1}
		if p.protocol != "-1" {
			p.from, p.to = aws.ToInt32(i.FromPort), aws.ToInt32(i.ToPort)
		}
		add := func(source, text *string) {
			p.source, p.text = aws.ToString(source), aws.ToString(text)
			out = append(out, p)
		}
		for _, r := range i.IpRanges {
			add(r.CidrIp, r.Description)
		}
		for _, r := range i.Ipv6Ranges {
			add(r.CidrIpv6, r.Description)
		}
		for _, g := range i.UserIdGroupPairs {
			add(g.GroupId, g.Description)
		}
		for _, l := range i.PrefixListIds {
			add(l.PrefixListId, l.Description)
		}
	}
	return out
}
