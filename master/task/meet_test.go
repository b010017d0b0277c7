package task_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

// meet lets containers wait for each other. It returns the time between the last start and the last
// answer.
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

// BenchmarkMeeting checks that it takes less than 1 s.
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

// If a rank never arrives, the log names it, even after a restart of the master; the waiting ranks end
// with the task.
func TestLogNamesMissingRank(t *testing.T) {
	t.Parallel()
	m := newOwnedMaster(t, newOwner(func(task.RunEnd) task.Next { return task.Done }))
	m.edit = func(c *task.Config) { c.LateAfter = 10 * time.Millisecond }
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 2)
	m.changed("1.a.1", 0, running, nil)
	for range 2 { // each master logs it once
		m.restart()
		_, err := m.tasks.Rendezvous(t.Context(), "1.a.1", string(containerID("1.a.1", 0)), 500*time.Millisecond)
		if status.Of(err) != status.Unavailable {
			t.Fatalf("got %v, want that it asks again", err)
		}
	}
	said := 0
	for _, line := range m.lines("1.a") {
		if strings.Contains(line, "1 of 2 containers are waiting for the others: rank 1 on a1 (not started)") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("got the line %d times in %q, want once", said, m.lines("1.a"))
	}
	answer := make(chan error, 1)
	go func() {
		_, err := m.tasks.Rendezvous(t.Context(), "1.a.1", string(containerID("1.a.1", 0)), time.Minute)
		answer <- err
	}()
	if err := m.tasks.End(t.Context(), "1.a", "killed by ann"); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v when it is killed, want that they will never meet", err)
	}
}
