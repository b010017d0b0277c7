package server

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/log"
)

// A query parameter that is not passed on would be ignored silently.
func TestEveryPartOfALogQueryIsPassedOn(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/?limit=3&orderBy=ORDER_BY_DESC&allocationIds=t.1&agentIds=a&containerIds=c&rankIds=-1&rankIds=2"+
		"&sources=task&stdtypes=stderr&levels=LOG_LEVEL_ERROR&timestampBefore=2026-01-02T13:00:00Z&timestampAfter=2026-01-02T12:00:00Z&afterId=6&beforeId=9", nil)
	r.SetPathValue("task", "t")
	c := &call{Request: r}
	got := c.logFilter()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	want := log.Filter{
		Task: "t", Limit: 3, Order: log.Newest,
		Allocations: []string{"t.1"}, Agents: []string{"a"}, Containers: []string{"c"}, Ranks: []int{-1, 2},
		Sources: []string{"task"}, Stdtypes: []string{"stderr"}, Levels: []log.Level{log.Error},
		Before: noon.Add(time.Hour), After: noon, From: 7, To: 9,
	}
	if d := cmp.Diff(got, want); d != "" || c.query().Err() != nil {
		t.Errorf("got -, want + (%v):\n%s", c.query().Err(), d)
	}
}
