package accounting

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Use is an amount of slot time and its cost.
type Use struct {
	// Slots is the sum of slot times, and Unpriced that of slots without a known price.
	Slots, Unpriced time.Duration
	// Costs are by currency.
	Costs map[string]float64
}

// Add adds the part of an allocation between from and until.
func (u *Use) Add(e Entry, from, until time.Time) {
	t := e.SlotTime(from, until)
	u.Slots += t
	switch {
	case t == 0:
	case e.Price == nil:
		u.Unpriced += t
	default:
		if u.Costs == nil {
			u.Costs = map[string]float64{}
		}
		u.Costs[e.Price.Currency] += t.Hours() * e.Price.PerHour
	}
}

// message converts the use of the object with this ID and name.
func (u Use) message(id int32, name string) *apiv1.ResourceUsage {
	out := &apiv1.ResourceUsage{Id: id, Name: name, SlotHours: u.Slots.Hours(), UnpricedSlotHours: u.Unpriced.Hours()}
	for _, currency := range slices.Sorted(maps.Keys(u.Costs)) {
		out.Costs = append(out.Costs, &apiv1.Cost{Currency: currency, Amount: u.Costs[currency]})
	}
	return out
}

// Subject describes an experiment in sums of usage.
type Subject struct {
	ID      int32
	Name    string
	Labels  []string
	Project int32
}

// key identifies a sum.
type key struct {
	id   int32
	name string
}

// keyOf returns the sum to which an entry belongs. If group is unspecified, that is the sum of its
// experiment.
func (b *Book) keyOf(group apiv1.ResourceUsageGroup, e Entry) key {
	x := b.Experiment(e.Job)
	switch group {
	case apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_USER:
		return key{name: e.Username}
	case apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_POOL:
		return key{name: e.Pool}
	case apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_WORKSPACE:
		return key{e.Workspace, b.Workspace(e.Workspace)}
	case apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_PROJECT:
		return key{x.Project, b.Project(x.Project)}
	case apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_UNSPECIFIED, apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_EXPERIMENT:
	}
	return key{x.ID, x.Name}
}

// Usage returns the sums of usage between from and until, largest first. It returns the errors of
// Between.
func (b *Book) Usage(ctx context.Context, group apiv1.ResourceUsageGroup, from, until time.Time) (*apiv1.ResourceUsageResponse, error) {
	list, err := b.Between(ctx, from, until)
	if err != nil {
		return nil, err
	}
	sums := map[key]*Use{}
	end := earlier(until, b.Now())
	for _, e := range list {
		k := b.keyOf(group, e)
		if sums[k] == nil {
			sums[k] = &Use{}
		}
		sums[k].Add(e, from, end)
	}
	out := &apiv1.ResourceUsageResponse{}
	for k, u := range sums {
		if u.Slots > 0 {
			out.Usage = append(out.Usage, u.message(k.id, k.name))
		}
	}
	slices.SortFunc(out.Usage, func(x, y *apiv1.ResourceUsage) int {
		return cmp.Or(cmp.Compare(y.GetSlotHours(), x.GetSlotHours()), cmp.Compare(x.GetId(), y.GetId()), cmp.Compare(x.GetName(), y.GetName()))
	})
	return out, nil
}

// UsageOf returns the total usage of a job.
func (b *Book) UsageOf(ctx context.Context, job rm.JobID) (*apiv1.ResourceUsage, error) {
	var u Use
	counted := map[rm.AllocationID]bool{}
	// An allocation that ends between the two reads is in both.
	placed := b.Placed()
	ended, err := OfJob(ctx, b.Store, job)
	if err != nil {
		return nil, err
	}
	for _, e := range append(ended, placed...) {
		if e.Job == job && !counted[e.Allocation] {
			counted[e.Allocation] = true
			u.Add(e, e.Start, b.Now())
		}
	}
	x := b.Experiment(job)
	return u.message(x.ID, x.Name), nil
}
