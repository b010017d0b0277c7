package awstest

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func (s *site) authorizeIngress(in *ec2.AuthorizeSecurityGroupIngressInput) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
	g, err := s.groupOf(in.GroupId)
	if err != nil {
		return nil, err
	}
	g.IpPermissions, err = s.authorized(g.IpPermissions, in.IpPermissions)
	return &ec2.AuthorizeSecurityGroupIngressOutput{Return: aws.Bool(true)}, err
}

func (s *site) authorizeEgress(in *ec2.AuthorizeSecurityGroupEgressInput) (*ec2.AuthorizeSecurityGroupEgressOutput, error) {
	g, err := s.groupOf(in.GroupId)
	if err != nil {
		return nil, err
	}
	g.IpPermissionsEgress, err = s.authorized(g.IpPermissionsEgress, in.IpPermissions)
	return &ec2.AuthorizeSecurityGroupEgressOutput{Return: aws.Bool(true)}, err
}

func (s *site) revokeIngress(in *ec2.RevokeSecurityGroupIngressInput) (*ec2.RevokeSecurityGroupIngressOutput, error) {
	g, err := s.groupOf(in.GroupId)
	if err != nil {
		return nil, err
	}
	g.IpPermissions, err = revoked(g.IpPermissions, in.IpPermissions)
	return &ec2.RevokeSecurityGroupIngressOutput{Return: aws.Bool(true)}, err
}

func (s *site) revokeEgress(in *ec2.RevokeSecurityGroupEgressInput) (*ec2.RevokeSecurityGroupEgressOutput, error) {
	g, err := s.groupOf(in.GroupId)
	if err != nil {
		return nil, err
	}
	g.IpPermissionsEgress, err = revoked(g.IpPermissionsEgress, in.IpPermissions)
	return &ec2.RevokeSecurityGroupEgressOutput{Return: aws.Bool(true)}, err
}

// authorized returns old with more added. It returns an error if one rule already exists.
func (s *site) authorized(old, more []types.IpPermission) ([]types.IpPermission, error) {
	have := splitRules(old)
	if len(splitRules(more)) == 0 {
		return old, missing("ipPermissions")
	}
	for _, p := range splitRules(more) {
		if slices.ContainsFunc(have, p.same) {
			return old, refuse(400, "InvalidPermission.Duplicate", "the specified rule \"peer: "+p.source+"\" already exists")
		}
		if strings.HasPrefix(p.source, "sg-") {
			if _, ok := s.net.groups.get(p.source); !ok {
				return old, s.noGroup(p.source)
			}
		}
		have = append(have, p)
	}
	return groupRules(have), nil
}

// revoked returns old without less. It returns an error if one rule does not exist.
func revoked(old, less []types.IpPermission) ([]types.IpPermission, error) {
	have := splitRules(old)
	for _, p := range splitRules(less) {
		i := slices.IndexFunc(have, p.same)
		if i < 0 {
			return old, refuse(400, "InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
		}
		have = slices.Delete(have, i, i+1)
	}
	return groupRules(have), nil
}

// groupRules groups rules like EC2: one entry per protocol and port range.
func groupRules(in []permission) []types.IpPermission {
	var out []types.IpPermission
	for _, p := range in {
		i := slices.IndexFunc(out, func(o types.IpPermission) bool {
			return *o.IpProtocol == p.protocol && (p.protocol == "-1" || *o.FromPort == p.from && *o.ToPort == p.to)
		})
		if i < 0 {
			n := types.IpPermission{IpProtocol: aws.String(p.protocol)}
			if p.protocol != "-1" {
				n.FromPort, n.ToPort = aws.Int32(p.from), aws.Int32(p.to)
			}
			out = append(out, n)
			i = len(out) - 1
		}
		put(&out[i], p)
	}
	return out
}

func put(o *types.IpPermission, p permission) {
	var text *string
	if p.text != "" {
		text = aws.String(p.text)
	}
	switch {
	case strings.HasPrefix(p.source, "sg-"):
		o.UserIdGroupPairs = append(o.UserIdGroupPairs, types.UserIdGroupPair{GroupId: aws.String(p.source), UserId: aws.String(Account), Description: text})
	case strings.HasPrefix(p.source, "pl-"):
		o.PrefixListIds = append(o.PrefixListIds, types.PrefixListId{PrefixListId: aws.String(p.source), Description: text})
	case strings.Contains(p.source, ":"):
		o.Ipv6Ranges = append(o.Ipv6Ranges, types.Ipv6Range{CidrIpv6: aws.String(p.source), Description: text})
	default:
		o.IpRanges = append(o.IpRanges, types.IpRange{CidrIp: aws.String(p.source), Description: text})
	}
}
