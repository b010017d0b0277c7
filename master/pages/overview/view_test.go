package overview

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// now is six hours after the day began.
var now = time.Date(2026, 3, 4, 6, 0, 0, 0, time.UTC)

func at(hours int) *timestamppb.Timestamp {
	return timestamppb.New(now.Add(time.Duration(hours) * time.Hour))
}

func TestProblemsAreThoseOfToday(t *testing.T) {
	in := facts{
		pools: []*apiv1.ResourcePool{
			{Name: "gpu", Machines: &apiv1.PoolMachines{Problems: []string{"the list of machines is denied"}, Refusals: []*apiv1.LaunchRefusal{{Reason: "no capacity for p5.48xlarge"}}}},
			{Name: "bare", Stats: &apiv1.QueueStats{QueuedCount: 2}},
			{Name: "fine", SlotsAvailable: 4, Stats: &apiv1.QueueStats{QueuedCount: 2}},
		},
		agents: []*apiv1.Agent{
			{Id: "c", NotIsolated: "no user namespaces"},
			{Id: "b", Sick: &apiv1.AgentSickness{Reason: "the disk is full"}},
			{Id: "a", Lost: true},
			{Id: "d", NotIsolated: "no user namespaces", TrustsUsers: true},
			{Id: "e", Enabled: true},
		},
		failed: []*apiv1.Experiment{
			{Id: 7, Name: "digits", Username: "bob", Reason: new("trial 9 failed"), EndTime: at(-23)},
			{Id: 6, Name: "old", EndTime: at(-25)},
		},
	}
	var got []string
	for _, p := range problems(in, now) {
		got = append(got, p.Href+" "+p.Text)
	}
	want := []string{
		" Pool gpu: the list of machines is denied", " Pool gpu: no capacity for p5.48xlarge",
		" Pool bare has no slots, and 2 jobs wait for it",
		" Agent a is not connected", " Agent b cannot start containers: the disk is full", " Agent c runs only tasks of administrators: no user namespaces",
		"/det/experiments/7 Experiment 7 (digits) of bob failed: trial 9 failed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	many := facts{agents: slices.Repeat([]*apiv1.Agent{{Lost: true}}, 50)}
	if got := problems(many, now); len(got) != mostProblems+1 || got[mostProblems].Text != "and 30 others" {
		t.Errorf("got %d problems, the last %v", len(got), got[len(got)-1])
	}
}

func TestChartHasTheAverageOfEachDay(t *testing.T) {
	day := func(start string, seconds map[string]float64) *apiv1.ResourceAllocationAggregatedEntry {
		return &apiv1.ResourceAllocationAggregatedEntry{PeriodStart: start, ByResourcePool: seconds}
	}
	c := newChart([]*apiv1.ResourceAllocationAggregatedEntry{
		day("2026-03-03", map[string]float64{"a": 2 * 86400, "b": 86400}),
		day("2026-03-04", map[string]float64{"b": 4 * 6 * 3600}), // a quarter of the day has passed
	}, now)
	want := []bar{{0, 60, 8, 40, "fill-1"}, {0, 40, 8, 20, "fill-2"}, {10, 20, 8, 80, "fill-2"}}
	if c.Top != "5" || !slices.Equal(c.Bars, want) || c.First != "2026-03-03" || c.Last != "2026-03-04" {
		t.Errorf("got %+v, want the bars %v below 5", c, want)
	}
	if got := c.Rows[1]; got.Day != "2026-03-04" || !slices.Equal(got.Values, []string{"0.00", "4.00"}) {
		t.Errorf("got the row %v", got)
	}
	if c := newChart(nil, now); len(c.Bars) != 0 || c.Top != "1" {
		t.Errorf("got %+v of no days", c)
	}
}

func TestPoolsBeyondTheColorsAreOneSeries(t *testing.T) {
	pools := map[string]float64{"a": 7, "b": 6, "c": 5, "d": 4, "e": 3, "f": 2, "g": 1, "never": 0}
	names := shownPools(pools)
	if want := []string{"a", "b", "c", "d", "e", others}; !slices.Equal(names, want) {
		t.Fatalf("got %v, want %v", names, want)
	}
	if got := valueOf(pools, others, names); got != 3 {
		t.Errorf("got %v for the other pools, want 3", got)
	}
}

func TestAxesEndAtRoundNumbers(t *testing.T) {
	for n, want := range map[float64]float64{0: 1, 0.3: 1, 1: 1, 1.1: 2, 3: 5, 7: 10, 10: 10, 101: 200, 4999: 5000} {
		if got := roundUp(n); got != want {
			t.Errorf("%v: got %v, want %v", n, got, want)
		}
	}
}

func TestEventsOfMachines(t *testing.T) {
	list, launched, ended := events([]*apiv1.Machine{
		{Id: "i-1", ResourcePool: "gpu", InstanceType: "p5.48xlarge", Price: "spot", LaunchTime: at(-3), JoinTime: at(-2)},
		{Id: "i-0", ResourcePool: "gpu", LaunchTime: at(-900), EndTime: at(-1), Reason: "it had no work for 10 minutes"},
	}, now.AddDate(0, 0, -30))
	var got []string
	for _, e := range list {
		got = append(got, e.Machine+" "+e.What+": "+e.Why)
	}
	want := []string{"i-0 ended: it had no work for 10 minutes", "i-1 joined: p5.48xlarge, spot", "i-1 launched: p5.48xlarge, spot"}
	if !slices.Equal(got, want) || launched != 1 || ended != 1 {
		t.Errorf("got %q, %d launched, %d ended; want %q", got, launched, ended, want)
	}
}

func TestViewOfACluster(t *testing.T) {
	spot := 0.5
	v := newView(facts{
		pools: []*apiv1.ResourcePool{
			{Name: "b", SlotsAvailable: 4, SlotsUsed: 3, Stats: &apiv1.QueueStats{ScheduledCount: 2}, SlotPrice: &apiv1.SlotPrice{PerHour: 2, SpotPerHour: &spot, Currency: "EUR"}},
			{Name: "a", SlotsAvailable: 0},
		},
		agents: []*apiv1.Agent{{Id: "x", Enabled: true}},
		queued: 1, queue: []waiting{{&apiv1.Job{EntityId: "t-1", Type: apiv1.Job_TYPE_COMMAND}, "no free slots"}},
		running: []*apiv1.Experiment{{Id: 5, Progress: wrapperspb.Double(0.456), BestTrialSearcherMetric: wrapperspb.Double(0.12345678)}},
		past: past{month: []*apiv1.ResourceUsage{
			{SlotHours: 10, UnpricedSlotHours: 2, Costs: []*apiv1.Cost{{Currency: "USD", Amount: 1}, {Currency: "EUR", Amount: 16}}}, {SlotHours: 0.5, Costs: []*apiv1.Cost{{Currency: "EUR", Amount: 1}}},
		}},
	}, now)
	if want := []tile{
		{"Slots in use", "3 of 4", "", "1 agent"},
		{"Jobs", "2", "running", "1 waiting"},
		{"Today", "0.0", "slot-hours", ""},
		{"This month", "10.5", "slot-hours", "1.00 USD + 17.00 EUR, and 2.0 slot-hours without a price"},
	}; !slices.Equal(v.Tiles, want) {
		t.Errorf("got the tiles %v, want %v", v.Tiles, want)
	}
	if v.Pools[0].Name != "a" || v.Pools[1].Price != "2 EUR per hour, spot 0.5" {
		t.Errorf("got the pools %v", v.Pools)
	}
	if v.Queue[0].Href != "/det/tasks/t-1" || v.Queue[0].Reason != "no free slots" {
		t.Errorf("got the queue %v", v.Queue)
	}
	if x := v.Running[0]; x.Best != "0.123457" || x.Done != 45 || x.Href != "/det/experiments/5" {
		t.Errorf("got the experiment %v", x)
	}
}
