package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// view is the data of the template.
type view struct {
	Problems []problem
	Tiles    []tile
	Pools    []pool
	// Queue are the first jobs that wait, and Queued is the number of all.
	Queue   []job
	Queued  int
	Running []experiment
	Chart   chart
	// Events are the latest of the machines, and Launched and Ended are their numbers in the days of the
	// chart. Launches is set if a pool launches machines.
	Events          []event
	Launched, Ended int
	Launches        bool
	Days            int
}

// tile is a number with its name.
type tile struct{ Name, Value, Unit, More string }

// pool is a row of the table of pools.
type pool struct {
	*apiv1.ResourcePool

	Price string
}

// job is a row of the queue.
type job struct {
	waiting

	Href string
}

// experiment is a row of the running experiments.
type experiment struct {
	*apiv1.Experiment

	Href string
	// Best is the best value of the metric of its search.
	Best string
	// Done is its progress in percent.
	Done int
}

func newView(in facts, now time.Time) view {
	v := view{Queued: in.queued, Chart: newChart(in.past.days, in.past.read), Days: shownDays, Problems: problems(in, now)}
	for _, p := range in.pools {
		v.Pools = append(v.Pools, pool{p, priceOf(p.GetSlotPrice())})
		v.Launches = v.Launches || p.GetMachines() != nil
	}
	slices.SortFunc(v.Pools, func(a, b pool) int { return cmpText(a.GetName(), b.GetName()) })
	for _, w := range in.queue {
		v.Queue = append(v.Queue, job{w, jobPath(w.Job)})
	}
	for _, x := range in.running {
		v.Running = append(v.Running, newExperiment(x))
	}
	v.Tiles = tiles(in)
	v.Events, v.Launched, v.Ended = events(in.past.machines, now.AddDate(0, 0, -shownDays))
	return v
}

func newExperiment(x *apiv1.Experiment) experiment {
	out := experiment{Experiment: x, Href: experimentPath(x.GetId()), Done: int(100 * x.GetProgress().GetValue())}
	if best := x.GetBestTrialSearcherMetric(); best != nil {
		out.Best = ui.Number(best.GetValue())
	}
	return out
}

// tiles are the numbers of the cluster.
func tiles(in facts) []tile {
	var used, slots, running int32
	for _, p := range in.pools {
		used, slots, running = used+p.GetSlotsUsed(), slots+p.GetSlotsAvailable(), running+p.GetStats().GetScheduledCount()
	}
	return []tile{
		{"Slots in use", fmt.Sprintf("%d of %d", used, slots), "", ui.Count(len(in.agents), "agent")},
		{"Jobs", fmt.Sprint(running), "running", fmt.Sprintf("%d waiting", in.queued)},
		usageTile("Today", in.past.today),
		usageTile("This month", in.past.month),
	}
}

// usageTile sums the usage of all pools.
func usageTile(name string, list []*apiv1.ResourceUsage) tile {
	hours, unpriced, costs := 0.0, 0.0, map[string]float64{}
	for _, u := range list {
		hours, unpriced = hours+u.GetSlotHours(), unpriced+u.GetUnpricedSlotHours()
		for _, c := range u.GetCosts() {
			costs[c.GetCurrency()] += c.GetAmount()
		}
	}
	t := tile{Name: name, Value: fmt.Sprintf("%.1f", hours), Unit: "slot-hours"}
	var parts []string
	for currency, amount := range costs {
		parts = append(parts, fmt.Sprintf("%.2f %s", amount, currency))
	}
	slices.Sort(parts)
	t.More = strings.Join(parts, " + ")
	if t.More != "" && unpriced > 0 {
		t.More += fmt.Sprintf(", and %.1f slot-hours without a price", unpriced)
	}
	return t
}

func priceOf(p *apiv1.SlotPrice) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%g %s per hour", p.GetPerHour(), p.GetCurrency())
	if p.SpotPerHour != nil {
		text += fmt.Sprintf(", spot %g", p.GetSpotPerHour())
	}
	return text
}

func experimentPath(id int32) string { return fmt.Sprintf("%sexperiments/%d", ui.Root, id) }

// jobPath returns the page of a job.
func jobPath(j *apiv1.Job) string {
	if j.GetType() == apiv1.Job_TYPE_EXPERIMENT {
		return ui.Root + "experiments/" + j.GetEntityId()
	}
	return ui.Root + "tasks/" + j.GetEntityId()
}

func cmpText(a, b string) int { return cmp.Compare(a, b) }
