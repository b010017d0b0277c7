package awstest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// SetCapacity limits the remaining capacity for an instance type in a zone. By default, it is
// unlimited.
func (w *World) SetCapacity(machineType, zone string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.site(zone[:len(zone)-1]).ec2.capacity[machineType+" "+zone] = n
}

// room sets the number of instances of a launch. It is limited by the account's quota, the capacity
// of the zone and the spot price.
func (s *site) room(l *launch) error {
	least, most := int(aws.ToInt32(l.in.MinCount)), int(aws.ToInt32(l.in.MaxCount))
	if least < 1 || most < least {
		return invalid("minCount and maxCount must be positive and in order")
	}
	l.count = most
	if l.spot && s.tooCheap(*l) {
		return refuse(400, "SpotMaxPriceTooLow", "Your Spot request price is lower than the minimum required Spot request fulfillment price.")
	}
	free := (int(s.quotas[quotaOf(l.model.name, l.spot)]) - s.vcpus(l.model.name, l.spot)) / int(l.model.vcpu)
	if free < least && l.spot {
		return refuse(400, "MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	}
	if free < least {
		return refuse(400, "VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of "+number(int(s.quotas[quotaOf(l.model.name, l.spot)]))+" allows for the instance bucket that the specified instance type belongs to.")
	}
	l.count = min(l.count, free)
	at := l.model.name + " " + *l.subnet.AvailabilityZone
	left, limited := s.ec2.capacity[at]
	if limited && left < least {
		return refuse(500, "InsufficientInstanceCapacity", "We currently do not have sufficient "+l.model.name+" capacity in the Availability Zone you requested ("+*l.subnet.AvailabilityZone+").")
	}
	if limited {
		l.count = min(l.count, left)
		s.ec2.capacity[at] = left - l.count
	}
	return nil
}

// vcpus returns the number of vCPUs that count against the quota of an instance type.
func (s *site) vcpus(name string, spot bool) int {
	n := 0
	for _, v := range s.ec2.instances.all() {
		m, _ := modelOf(string(v.InstanceType)) // the type of an existing instance is known
		alive := v.State.Name == types.InstanceStateNamePending || v.State.Name == types.InstanceStateNameRunning
		sameMarket := (v.InstanceLifecycle == types.InstanceLifecycleTypeSpot) == spot
		if alive && sameMarket && quotaOf(m.name, spot) == quotaOf(name, spot) {
			n += int(m.vcpu)
		}
	}
	return n
}

// quotaOf returns the Service Quotas code of an instance type's vCPU quota.
func quotaOf(name string, spot bool) string {
	switch {
	case strings.HasPrefix(name, "g") && spot:
		return "L-3819A6DF"
	case strings.HasPrefix(name, "g"):
		return "L-DB2E81BA"
	case strings.HasPrefix(name, "p5") && spot:
		return "L-C4BD4855"
	case strings.HasPrefix(name, "p") && spot:
		return "L-7212CCBC"
	case strings.HasPrefix(name, "p"):
		return "L-417A185B"
	case spot:
		return "L-34B43A08"
	}
	return "L-1216C47A"
}
