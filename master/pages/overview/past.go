package overview

import (
	"cmp"
	"slices"
	"sync"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

const (
	// shownDays is the number of days of the charts.
	shownDays = 30
	// remembered is how long the past is not read again: it is the same for all visitors, and a sum of many
	// records.
	remembered = time.Minute
)

// past is the usage of the last days.
type past struct {
	// days are the slot seconds by day.
	days []*apiv1.ResourceAllocationAggregatedEntry
	// today and month are the sums by pool since the day and the month began, by the calendar of UTC.
	today, month []*apiv1.ResourceUsage
	// machines were launched or ended in the last days, the latest first.
	machines []*apiv1.Machine
	read     time.Time
}

// memory has the past as it was read last.
type memory struct {
	mu   sync.Mutex // guards last; held while it is read
	last past
}

func (m *memory) read(v *ui.Visit, pools []*apiv1.ResourcePool) (past, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if age := v.Now.Sub(m.last.read); age >= 0 && age < remembered {
		return m.last, nil
	}
	p, err := readPast(v, pools)
	if err == nil {
		m.last = p
	}
	return p, err
}

func readPast(v *ui.Visit, pools []*apiv1.ResourcePool) (p past, err error) {
	ctx, now := v.Context(), v.Now.UTC()
	p.read = v.Now
	if p.days, err = v.API.ResourceDays(ctx, now.AddDate(0, 0, 1-shownDays), now); err != nil {
		return p, err
	}
	day, month := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC), time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	if p.today, err = v.API.ResourceUsage(ctx, apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_POOL, day, now); err != nil {
		return p, err
	}
	if p.month, err = v.API.ResourceUsage(ctx, apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_POOL, month, now); err != nil {
		return p, err
	}
	since := now.AddDate(0, 0, -shownDays)
	for _, pool := range pools {
		if pool.GetMachines() == nil {
			continue // it launches no machines
		}
		list, err := v.API.PoolMachines(ctx, pool.GetName())
		if err != nil {
			return p, err
		}
		for _, m := range list {
			if m.GetLaunchTime().AsTime().After(since) || m.GetEndTime() != nil && m.GetEndTime().AsTime().After(since) {
				p.machines = append(p.machines, m)
			}
		}
	}
	slices.SortFunc(p.machines, func(a, b *apiv1.Machine) int {
		return cmp.Or(b.GetLaunchTime().AsTime().Compare(a.GetLaunchTime().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return p, nil
}
