package awstest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// SetCapacity says how many machines of a type a zone still has; a zone that was
// never set has unlimited capacity.
func (w *World) SetCapacity(machineType, zone string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.site(zone[:len(zone)-1]).ec2.capacity[machineType+" "+zone] = n
}

// room decides how many machines a launch gets: by the account's quota, by what
// the zone has, and by the price that is offered.
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

// vcpus is how many count against the quota that a type falls under.
func (s *site) vcpus(name string, spot bool) int {
	n := 0
	for _, v := range s.ec2.instances.all() {
		m, _ := modelOf(string(v.InstanceType)) // it was launched
		alive := v.State.Name == types.InstanceStateNamePending || v.State.Name == types.InstanceStateNameRunning
		sameMarket := (v.InstanceLifecycle == types.InstanceLifecycleTypeSpot) == spot
		if alive && sameMarket && quotaOf(m.name, spot) == quotaOf(name, spot) {
			n += int(m.vcpu)
		}
	}
	return n
}

// quotaOf is Service Quotas' code for the vCPUs of a type.
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
