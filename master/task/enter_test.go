package task

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

func TestRunningContainer(t *testing.T) {
	t.Parallel()
	s := snapshot{task: lifecycle.Task{ID: "t1"}, allocations: []lifecycle.Allocation{{}, {Containers: []lifecycle.Container{
		{ID: "c0", Rank: 0, State: lifecycle.ContainerTerminated}, {ID: "c1", Rank: 1, State: lifecycle.ContainerRunning}, {ID: "c2", Rank: 2, State: lifecycle.ContainerAssigned},
	}}}}
	for rank, want := range map[int]string{
		0: "the process of rank 0 of task t1 has ended", 1: "", 2: "the process of rank 2 of task t1 does not run yet",
		3: "task t1 has no process of rank 3; its ranks are 0 to 2",
	} {
		c, err := runningContainer(s, rank)
		if got := status.Of(err); err != nil && (err.Error() != want || (got == status.NotFound) != (rank == 3)) || err == nil && (want != "" || c != "c1") {
			t.Errorf("rank %d: got %q and %v", rank, c, err)
		}
	}
	if _, err := runningContainer(snapshot{task: lifecycle.Task{ID: "t1"}, allocations: []lifecycle.Allocation{{}}}, 0); err == nil || err.Error() != "task t1 does not run yet" {
		t.Errorf("got %v for a task that waits", err)
	}
}
