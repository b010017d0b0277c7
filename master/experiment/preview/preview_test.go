package preview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/config"
	experiment "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

func complete(t *testing.T, text string) experiment.Experiment {
	t.Helper()
	d, err := experiment.Parse([]byte(text), "train.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := experiment.Complete(experiment.Layers{
		Request: d, Cluster: &config.CheckpointStorage{Directory: &config.DirectoryStorage{ContainerPath: "/c"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

const halving = `
entrypoint: x
resources: {slots_per_trial: 2}
searcher: {name: async_halving, metric: loss, max_trials: 64, num_rungs: 3, time_metric: epochs, max_time: 16}
`

func TestPreviewUsage(t *testing.T) {
	p, err := Of(complete(t, halving), Known{HoursPerUnit: 0.5, Price: Price{Currency: "USD", Expected: 2, AtMost: 2}, First: 3})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(p.Trials, p.Concurrent, p.Slots, p.Groups, p.Expected.SlotHours, *p.Expected.Dollars, p.AtMost.SlotHours, *p.AtMost.Dollars, len(p.First), p.Waits)
	if want := "64 16 32 [{48 1 epochs} {12 4 epochs} {4 16 epochs}] 160 320 1024 2048 3 []"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPreviewWithoutDurations(t *testing.T) {
	const random = "entrypoint: x\nsearcher: {name: random, metric: loss, max_trials: 4}\n"
	for _, c := range []struct {
		text  string
		known Known
		want  string
	}{
		{halving, Known{}, "nil"},
		{halving, Known{HoursPerTrial: 3}, "nil"},
		{random, Known{HoursPerUnit: 3}, "nil"},
		{random, Known{HoursPerTrial: 3}, "12 12"},
		{strings.Replace(random, "4}", "4, max_length: {epochs: 2}}", 1), Known{HoursPerUnit: 3}, "24 24"},
	} {
		p, err := Of(complete(t, c.text), c.known)
		if err != nil {
			t.Fatal(err)
		}
		got := "nil"
		if p.Expected != nil && p.AtMost != nil {
			got = fmt.Sprint(p.Expected.SlotHours, p.AtMost.SlotHours)
		}
		if got != c.want || p.Expected != nil && p.Expected.Dollars != nil {
			t.Errorf("%s%+v: %s, want %s", c.text, c.known, got, c.want)
		}
	}
}

func TestPreviewWaits(t *testing.T) {
	with := func(resources string) string { return strings.Replace(halving, "slots_per_trial: 2", resources, 1) }
	for _, c := range []struct {
		text string
		pool Pool
		want string
	}{
		{halving, Pool{Slots: 64}, ""},
		{halving, Pool{Slots: 1}, "no trial can start: each needs 2 slots, and pool p has at most 1"},
		{halving, Pool{MostSlots: 64}, "the first trial waits for machines: pool p has 0 slots now"},
		{halving, Pool{Slots: 9, MostSlots: 9}, "4 of 16 trials run at once: pool p has at most 9 slots"},
		{with("slots_per_trial: 3"), Pool{Slots: 16, PerMachine: 4}, "4 of 16 trials run at once"},
		{with("slots_per_trial: 6"), Pool{Slots: 16, PerMachine: 4}, "a multiple of 4"},
		{with("slots_per_trial: 8"), Pool{Slots: 128, PerMachine: 4}, ""},
		{with("slots_per_trial: 0"), Pool{}, ""},
		{with("slots_per_trial: 2, max_slots: 8"), Pool{Slots: 64}, "4 of 16 trials run at once: resources.max_slots is 8"},
		{with("slots_per_trial: 2, max_slots: 1"), Pool{Slots: 64}, "no trial can start: each needs 2 slots, and resources.max_slots is 1"},
	} {
		c.pool.Name = "p"
		p, err := Of(complete(t, c.text), Known{Pool: &c.pool})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Waits, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s%+v: %q, want %q", c.text, c.pool, got, c.want)
		}
	}
}

func TestReadCurves(t *testing.T) {
	c := search.Config{
		Method: search.AsyncHalving, MaxTrials: 3, MaxConcurrent: 1, Metric: "loss", SmallerIsBetter: true, TimeMetric: "epochs",
		MaxTime: 4, Divisor: 4, Rungs: 2,
	}
	curves, err := ReadCurves(strings.NewReader("epochs,trial,other,loss\n1,a,x,0.5\n1,b,x,0.9\n4,a,x,0.4\n4,b,x,NaN\n"), c)
	if err != nil {
		t.Fatal(err)
	}
	sim, err := c.Simulate(curves)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(len(curves), sim.Trained, sim.Recorded, sim.Trials), "2 9 12 [{1 4 0.4 false} {2 1 0.9 true} {3 4 0.4 false}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for text, want := range map[string]string{
		"":                             "the first line must name the columns",
		"trial,loss\n":                 `no column "epochs"`,
		"trial,epochs,loss\na,x,1\n":   "line 2: the time",
		"trial,epochs,loss\na,1,bad\n": "line 2: the metric",
		"trial,epochs,loss\na,1\n":     "wrong number of fields",
	} {
		if _, err := ReadCurves(strings.NewReader(text), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
