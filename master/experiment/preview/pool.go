package preview

import "fmt"

// Pool is the capacity of a resource pool.
type Pool struct {
	Name string
	// Slots is the current number of slots, MostSlots the number after scaling up.
	Slots, MostSlots int
	// PerMachine is the number of slots per machine, 0 if machines differ.
	PerMachine int
}

// describeWaits returns the reasons why trials will wait for slots of the pool.
func (l Pool) describeWaits(p Preview) []string {
	need, most := p.SlotsPerTrial, max(l.Slots, l.MostSlots)
	switch {
	case need == 0:
		return nil
	case need > most:
		return []string{fmt.Sprintf("no trial can start: each needs %s, and pool %s has at most %d; set resources.slots_per_trial or another resource_pool",
			formatSlots(need), l.Name, most)}
	case l.PerMachine > 0 && need > l.PerMachine && need%l.PerMachine != 0:
		return []string{fmt.Sprintf("no trial can start: each needs %s, and a trial on several machines of pool %s must use all their slots; set resources.slots_per_trial to a multiple of %d",
			formatSlots(need), l.Name, l.PerMachine)}
	}
	var out []string
	if need > l.Slots {
		out = append(out, fmt.Sprintf("the first trial waits for machines: pool %s has %s now", l.Name, formatSlots(l.Slots)))
	}
	if fit := l.countFitting(need, most); fit*need < p.Slots {
		out = append(out, fmt.Sprintf("%d of %d trials run at once: pool %s has at most %s", fit, p.Slots/need, l.Name, formatSlots(most)))
	}
	return out
}

// countFitting returns the maximum number of concurrent trials.
func (l Pool) countFitting(need, most int) int {
	if l.PerMachine > 0 && need <= l.PerMachine {
		return most / l.PerMachine * (l.PerMachine / need)
	}
	return most / need
}

func describeMaxSlots(limit, atOnce int, p Preview) []string {
	switch {
	case atOnce == 0:
		return []string{fmt.Sprintf("no trial can start: each needs %s, and resources.max_slots is %d", formatSlots(p.SlotsPerTrial), limit)}
	case atOnce < p.Concurrent:
		return []string{fmt.Sprintf("%d of %d trials run at once: resources.max_slots is %d", atOnce, p.Concurrent, limit)}
	}
	return nil
}

func formatSlots(n int) string {
	if n == 1 {
		return "1 slot"
	}
	return fmt.Sprintf("%d slots", n)
}
