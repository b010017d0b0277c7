package fleet

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
)

// List implements cloud.Instances.
func (f *Fleet) List(ctx context.Context) ([]cloud.Instance, error) {
	pages := ec2.NewDescribeInstancesPaginator(f.ec2, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("tag:" + TagCluster), Values: []string{f.cfg.Cluster}},
		{Name: aws.String("tag:" + TagPool), Values: []string{f.cfg.Pool}},
	}})
	var out []cloud.Instance
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				if f.isOurs(i.Tags) {
					out = append(out, f.toInstance(i))
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b cloud.Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out, nil
}

// isOurs checks the tags again, because the filter of a list may be inexact.
func (f *Fleet) isOurs(tags []types.Tag) bool {
	return tagValue(tags, TagCluster) == f.cfg.Cluster && tagValue(tags, TagPool) == f.cfg.Pool
}

func tagValue(tags []types.Tag, key string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return ""
}

// toInstance converts an EC2 instance.
func (f *Fleet) toInstance(i types.Instance) cloud.Instance {
	m := cloud.Instance{
		ID:       cloud.InstanceID(aws.ToString(i.InstanceId)),
		State:    stateOf(i.State),
		Offer:    cloud.Offer{Type: string(i.InstanceType), Zone: f.zoneOf(i), Price: cloud.OnDemand},
		Token:    aws.ToString(i.ClientToken),
		Launched: aws.ToTime(i.LaunchTime),
	}
	if i.Placement != nil {
		m.Zone = aws.ToString(i.Placement.AvailabilityZone)
	}
	if i.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
		m.Offer.Price = cloud.Spot
	}
	if m.State != cloud.InstanceStarting && m.State != cloud.InstanceRunning {
		m.Reason, m.Kind, m.Fix = endReason(i)
	}
	return m
}

// zoneOf returns the zone or subnet of an instance in the notation of the pool's offers.
func (f *Fleet) zoneOf(i types.Instance) string {
	if len(f.cfg.Subnets) == 0 {
		return ""
	}
	return aws.ToString(i.SubnetId)
}

// stateOf converts EC2's state. An unknown state counts as a transition: the instance is counted,
// and neither used nor replaced.
func stateOf(s *types.InstanceState) cloud.InstanceState {
	if s == nil {
		return cloud.InstanceStarting
	}
	switch s.Name {
	case types.InstanceStateNamePending:
		return cloud.InstanceStarting
	case types.InstanceStateNameRunning:
		return cloud.InstanceRunning
	case types.InstanceStateNameStopping, types.InstanceStateNameShuttingDown:
		return cloud.InstanceStopping
	case types.InstanceStateNameStopped:
		return cloud.InstanceStopped
	case types.InstanceStateNameTerminated:
		return cloud.InstanceTerminated
	default:
		return cloud.InstanceStopping
	}
}
