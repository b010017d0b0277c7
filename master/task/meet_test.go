package task_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

// meet lets containers wait for each other and returns how long after the last one had
// started the last one was answered.
func (m *master) meet(id rm.AllocationID, containers int) time.Duration {
	m.t.Helper()
	m.assign(id, containers)
	var waiting sync.WaitGroup
	for rank := range containers {
		waiting.Go(func() {
			info, err := m.tasks.Rendezvous(m.t.Context(), string(id), string(containerID(id, rank)), 5*time.Minute)
			if err != nil || len(info.GetAddresses()) != containers || int(info.GetRank()) != rank {
				m.t.Errorf("rank %d: got %v, %v", rank, info, err)
			}
		})
	}
	var last time.Time
	for rank := range containers {
		last = time.Now()
		err := m.tasks.Changed(m.t.Context(), rm.ContainerChange{
			Allocation: id, Container: containerID(id, rank), Agent: "a1", Rank: rank, State: running, Host: fmt.Sprintf("10.0.0.%d", rank), At: last,
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
	waiting.Wait()
	return time.Since(last)
}

func TestManyContainersMeet(t *testing.T) {
	t.Parallel()
	m := newOwnedMaster(t, newOwner(func(task.RunEnd) task.Next { return task.Done }))
	m.begin(trial("1.a", 1))
	t.Logf("64 containers have met %v after the last had started", m.meet("1.a.1", 64))
}

// The promise is below 1 s.
func BenchmarkMeeting(b *testing.B) {
	m := newOwnedMaster(b, newOwner(func(task.RunEnd) task.Next { return task.Done }))
	var worst time.Duration
	for i := range b.N {
		id := rm.TaskID(fmt.Sprintf("%d.a", i+1))
		m.begin(trial(id, 1))
		worst = max(worst, m.meet(rm.AllocationID(id+".1"), 64))
	}
	b.ReportMetric(float64(worst.Microseconds())/1000, "ms-worst")
}
