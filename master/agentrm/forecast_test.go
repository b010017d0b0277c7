package agentrm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
)

func (c *cluster) forecast(slots int, change ...func(*rm.Request)) rm.Forecast {
	c.t.Helper()
	q := rm.Request{Allocation: "new.1", Task: "new", Job: "new", Slots: slots, Submitted: time.Now()}
	for _, f := range change {
		f(&q)
	}
	out, err := c.Forecast(c.t.Context(), q)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func TestForecastIsThePlacement(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, _ := c.join("a", 2)
	want := rm.Forecast{Pool: "default", Priority: 42, Placement: []rm.Share{{Agent: "a", Slots: []int{0, 1}}}}
	if d := cmp.Diff(want, c.forecast(2)); d != "" {
		t.Errorf("a free agent (-want +got):\n%s", d)
	}
	c.submit("t", 2, yielding)
	a.reports(a.started(), running)
	if got := c.forecast(1); got.Waiting != string(pool.ForSlots) || got.Placement != nil || len(got.Preempts) != 0 {
		t.Errorf("got %+v beside a running task, want %q", got, pool.ForSlots)
	}
	want = rm.Forecast{Pool: "default", Priority: 42, Placement: []rm.Share{{Agent: "a"}}}
	if d := cmp.Diff(want, c.forecast(0)); d != "" {
		t.Errorf("without slots (-want +got):\n%s", d)
	}
	if got := c.forecast(8); got.Waiting != string(pool.ForCapacity) {
		t.Errorf("got %+v, want %q", got, pool.ForCapacity)
	}
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	if n := len(c.state.allocations); n != 1 || c.state.queue.Known("new.1") || len(c.state.watchers) != 0 {
		t.Errorf("got %d allocations, want no trace of the forecasts", n)
	}
}

func TestForecastNamesThePreempted(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(c *Config) { c.Pools[0].Scheduler.Preemption = true })
	a, _ := c.join("a", 2)
	c.submit("t", 2, yielding)
	s := a.started()
	a.reports(s, running)
	got := c.forecast(2, prefer(1))
	if len(got.Preempts) != 1 || got.Preempts[0].GetId() != "t" || got.Preempts[0].GetSlots() != 2 || got.Waiting != string(pool.ForRelease) {
		t.Errorf("got %+v, want task t preempted", got)
	}
	a.reports(s, terminated, 0)
	c.await(t, "t.1 ended")
	if n := c.count("t.1 preempted"); n != 0 {
		t.Errorf("the forecast preempted the task")
	}
}

func TestForecastOfAPoolThatLaunches(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(c *Config) {
		c.Room = func(string) []pool.Shape { return []pool.Shape{{Slots: 4, Count: 2}} }
	})
	if got := c.forecast(4); !got.Launches || got.Placement != nil {
		t.Errorf("got %+v, want machines to be launched", got)
	}
	if got := c.forecast(16); got.Launches {
		t.Errorf("got %+v for more than the machines", got)
	}
}

func TestForecastOfAnUnknownPool(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	_, err := c.Forecast(t.Context(), rm.Request{Allocation: "new.1", Job: "new", Pool: "none"})
	if err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("got %v, want the unknown pool", err)
	}
}
