package awstest

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func requestLook() look[types.SpotInstanceRequest] {
	return look[types.SpotInstanceRequest]{
		absent: "InvalidSpotInstanceRequestID.NotFound",
		tags:   func(v types.SpotInstanceRequest) []types.Tag { return v.Tags },
		field: func(v types.SpotInstanceRequest, name string) ([]string, bool) {
			switch name {
			case "spot-instance-request-id":
				return []string{*v.SpotInstanceRequestId}, true
			case "state":
				return []string{string(v.State)}, true
			case "instance-id":
				return []string{aws.ToString(v.InstanceId)}, true
			case "status-code":
				return []string{aws.ToString(v.Status.Code)}, true
			}
			return nil, false
		},
	}
}

func (s *site) describeSpotRequests(in *ec2.DescribeSpotInstanceRequestsInput) (*ec2.DescribeSpotInstanceRequestsOutput, error) {
	all, err := find(s.ec2.requests, in.SpotInstanceRequestIds, in.Filters, requestLook())
	if err != nil {
		return nil, err
	}
	some, next, err := page(s, all, in.NextToken, in.MaxResults)
	return &ec2.DescribeSpotInstanceRequestsOutput{SpotInstanceRequests: some, NextToken: next}, err
}

// requested creates the spot request of an instance.
func (s *site) requested(l launch, instance string) *string {
	id := s.id("sir")
	r := types.SpotInstanceRequest{
		SpotInstanceRequestId: &id, InstanceId: &instance, State: types.SpotInstanceStateActive, Type: types.SpotInstanceTypeOneTime,
		Status: fulfilled("fulfilled"), CreateTime: aws.Time(s.now()), LaunchedAvailabilityZone: l.subnet.AvailabilityZone,
		Tags: tagged(l.in.TagSpecifications, types.ResourceTypeSpotInstancesRequest),
	}
	if o := l.in.InstanceMarketOptions.SpotOptions; o != nil {
		r.SpotPrice = o.MaxPrice
		if o.SpotInstanceType != "" {
			r.Type = o.SpotInstanceType
		}
	}
	s.ec2.requests.add(id, r)
	return &id
}

func fulfilled(code string) *types.SpotInstanceStatus { return &types.SpotInstanceStatus{Code: &code} }

// cancelSpotRequests does not terminate the instances of active requests.
func (s *site) cancelSpotRequests(in *ec2.CancelSpotInstanceRequestsInput) (*ec2.CancelSpotInstanceRequestsOutput, error) {
	out := &ec2.CancelSpotInstanceRequestsOutput{}
	for _, id := range in.SpotInstanceRequestIds {
		if _, ok := s.ec2.requests.get(id); !ok {
			return nil, refuse(400, "InvalidSpotInstanceRequestID.NotFound", "The spot instance request ID '"+id+"' does not exist")
		}
	}
	for _, id := range in.SpotInstanceRequestIds {
		r, _ := s.ec2.requests.get(id) // it was found above
		if r.State == types.SpotInstanceStateOpen || r.State == types.SpotInstanceStateActive {
			r.State, r.Status = types.SpotInstanceStateCancelled, fulfilled("request-canceled-and-instance-running")
		}
		out.CancelledSpotInstanceRequests = append(out.CancelledSpotInstanceRequests, types.CancelledSpotInstanceRequest{
			SpotInstanceRequestId: aws.String(id), State: types.CancelSpotInstanceRequestState(r.State),
		})
	}
	return out, nil
}

// ended closes the request of a terminated instance.
func (s *site) ended(v *types.Instance) {
	if r, ok := s.ec2.requests.get(aws.ToString(v.SpotInstanceRequestId)); ok && r.State == types.SpotInstanceStateActive {
		r.State, r.Status = types.SpotInstanceStateClosed, fulfilled("instance-terminated-by-user")
	}
}

// SetSpotPrice sets the current hourly spot price of an instance type in US dollars.
func (w *World) SetSpotPrice(machineType string, dollars float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.site(w.opt.Region).ec2.price[machineType] = dollars
}

// Interrupt interrupts a spot instance.
func (w *World) Interrupt(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sites {
		v, ok := s.ec2.instances.get(id)
		if !ok {
			continue
		}
		if r, ok := s.ec2.requests.get(aws.ToString(v.SpotInstanceRequestId)); ok {
			r.State, r.Status = types.SpotInstanceStateClosed, fulfilled("instance-terminated-no-capacity")
		}
		s.end(v, "Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination")
	}
}

// tooCheap reports whether the maximum price is below the spot price.
func (s *site) tooCheap(l launch) bool {
	o := l.in.InstanceMarketOptions.SpotOptions
	if o == nil || o.MaxPrice == nil {
		return false
	}
	offered, err := strconv.ParseFloat(*o.MaxPrice, 64)
	return err == nil && offered < s.ec2.price[l.model.name]
}
