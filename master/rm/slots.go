package rm

import apiv1 "github.com/det-deploy/det-deploy/master/api/v1"

// AddSlot adds a slot to an agent and to its SlotStats, whose two maps must exist. Clients print
// slots in the order of their keys.
func AddSlot(a *apiv1.Agent, key string, s *apiv1.Slot) {
	a.Slots[key] = s
	count(a.GetSlotStats().GetTypeStats(), s.GetDevice().GetType().String(), s)
	count(a.GetSlotStats().GetBrandStats(), s.GetDevice().GetBrand(), s)
}

func count(stats map[string]*apiv1.DeviceStats, key string, s *apiv1.Slot) {
	d := stats[key]
	if d == nil {
		d = &apiv1.DeviceStats{States: make(map[string]int32)}
		stats[key] = d
	}
	d.Total++
	if !s.GetEnabled() {
		d.Disabled++
	}
	if s.GetDraining() {
		d.Draining++
	}
	if c := s.GetContainer(); c != nil {
		d.States[c.GetState().String()]++
	}
}
