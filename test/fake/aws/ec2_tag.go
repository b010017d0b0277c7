package awstest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func (s *site) createTags(in *ec2.CreateTagsInput) (*ec2.CreateTagsOutput, error) {
	return &ec2.CreateTagsOutput{}, s.retag(in.Resources, func(old []types.Tag) []types.Tag { return merged(old, in.Tags) })
}

func (s *site) deleteTags(in *ec2.DeleteTagsInput) (*ec2.DeleteTagsOutput, error) {
	return &ec2.DeleteTagsOutput{}, s.retag(in.Resources, func(old []types.Tag) []types.Tag { return without(old, in.Tags) })
}

// retag changes the tags of all objects or, if one does not exist, of none.
func (s *site) retag(ids []string, f func([]types.Tag) []types.Tag) error {
	var found []*[]types.Tag
	for _, id := range ids {
		tags := s.tagsOf(id)
		if tags == nil {
			kind, _, _ := strings.Cut(id, "-")
			return refuse(400, "InvalidID.NotFound", "The "+kind+" ID '"+id+"' does not exist")
		}
		found = append(found, tags)
	}
	for _, tags := range found {
		*tags = f(*tags)
	}
	return nil
}

// tagsOf returns a pointer to the tags of an object, or nil if the object does not exist.
func (s *site) tagsOf(id string) *[]types.Tag {
	return first(
		in(s.net.vpcs, id, func(v *types.Vpc) *[]types.Tag { return &v.Tags }),
		in(s.net.subnets, id, func(v *types.Subnet) *[]types.Tag { return &v.Tags }),
		in(s.net.gateways, id, func(v *types.InternetGateway) *[]types.Tag { return &v.Tags }),
		in(s.net.routes, id, func(v *types.RouteTable) *[]types.Tag { return &v.Tags }),
		in(s.net.endpoints, id, func(v *types.VpcEndpoint) *[]types.Tag { return &v.Tags }),
		in(s.net.groups, id, func(v *types.SecurityGroup) *[]types.Tag { return &v.Tags }),
		in(s.net.nics, id, func(v *types.NetworkInterface) *[]types.Tag { return &v.TagSet }),
		in(s.net.addresses, id, func(v *types.Address) *[]types.Tag { return &v.Tags }),
		in(s.ec2.instances, id, func(v *types.Instance) *[]types.Tag { return &v.Tags }),
		in(s.ec2.volumes, id, func(v *types.Volume) *[]types.Tag { return &v.Tags }),
		in(s.ec2.snapshots, id, func(v *types.Snapshot) *[]types.Tag { return &v.Tags }),
		in(s.ec2.requests, id, func(v *types.SpotInstanceRequest) *[]types.Tag { return &v.Tags }),
	)
}

func in[T any](t *table[T], id string, tags func(*T) *[]types.Tag) *[]types.Tag {
	if v, ok := t.ask(id); ok {
		return tags(v)
	}
	return nil
}

func first(all ...*[]types.Tag) *[]types.Tag {
	for _, t := range all {
		if t != nil {
			return t
		}
	}
	return nil
}
