package master

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/server"
)

// What a client asks for and is not passed on would be ignored in silence.
func TestEveryPartOfALogQueryIsPassedOn(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	got := filterOf(server.LogQuery{
		Task: "t", Limit: 3, Descending: true,
		AllocationIDs: []string{"t.1"}, AgentIDs: []string{"a"}, ContainerIDs: []string{"c"}, RankIDs: []int32{-1, 2},
		Sources: []string{"task"}, Stdtypes: []string{"stderr"}, Levels: []apiv1.LogLevel{apiv1.LogLevel_LOG_LEVEL_ERROR},
		Before: noon.Add(time.Hour), After: noon, From: 7,
	})
	want := log.Filter{
		Task: "t", Limit: 3, Order: log.Newest,
		Allocations: []string{"t.1"}, Agents: []string{"a"}, Containers: []string{"c"}, Ranks: []int{-1, 2},
		Sources: []string{"task"}, Stdtypes: []string{"stderr"}, Levels: []log.Level{log.Error},
		Before: noon.Add(time.Hour), After: noon, From: 7,
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}
