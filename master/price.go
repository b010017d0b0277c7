package master

import (
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/rm"
)

// DescribeSlotPrice is what clients are shown of what a pool's slots cost; nil is not known.
func DescribeSlotPrice(p config.Pool) *apiv1.SlotPrice {
	if p.SlotPrice == nil {
		return nil
	}
	return &apiv1.SlotPrice{PerHour: p.SlotPrice.PerHour, SpotPerHour: p.SlotPrice.SpotPerHour, Currency: p.SlotPrice.Currency}
}

// priceAssignment is what a slot costs in an hour where an allocation was placed, nil where
// its pool has no price.
func (m *Master) priceAssignment(as rm.Assignment) *rm.Price {
	for _, p := range m.parts.Config.ResourcePools {
		if p.Name == as.Pool && p.SlotPrice != nil {
			return priceSlots(*p.SlotPrice, as.Containers, func(id rm.AgentID) bool { return m.launchers.IsSpot(p.Name, string(id)) })
		}
	}
	return nil
}

// priceSlots is the mean over the slots of all containers, which may be on spot machines and
// on others.
func priceSlots(p config.SlotPrice, containers []rm.Container, isSpot func(rm.AgentID) bool) *rm.Price {
	var sum float64
	slots := 0
	for _, c := range containers {
		sum += p.On(isSpot(c.Agent)) * float64(len(c.Devices))
		slots += len(c.Devices)
	}
	if slots == 0 {
		return &rm.Price{PerHour: p.PerHour, Currency: p.Currency}
	}
	return &rm.Price{PerHour: sum / float64(slots), Currency: p.Currency}
}
