package task_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

// gather sends a request as program i of n.
func (m *master) gather(ctx context.Context, round string, i, n int) (string, error) {
	data, err := structpb.NewStruct(map[string]any{"rank": i})
	if err != nil {
		m.t.Error(err)
	}
	all, err := m.tasks.AllGather(ctx, &apiv1.AllocationAllGatherRequest{
		AllocationId: "1.a.1", RequestUuid: fmt.Sprintf("%s-%02d", round, i), NumPeers: int32(n), Data: data,
	})
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprint(s.AsMap()["rank"]))
	}
	return strings.Join(out, " "), err
}

// gatherAsync sends a request in the background, and returns a channel with the answer.
func (m *master) gatherAsync(ctx context.Context, round string, i, n int) <-chan string {
	out := make(chan string, 1)
	go func() {
		got, err := m.gather(ctx, round, i, n)
		if err != nil {
			got = err.Error()
		}
		out <- got
	}()
	return out
}

func TestAllGather(t *testing.T) {
	t.Parallel()
	m := newOwnedMaster(t, newOwner(func(task.RunEnd) task.Next { return task.Done }))
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 3)
	for _, round := range []string{"first", "second"} {
		var others []<-chan string
		for i := 1; i < 3; i++ {
			others = append(others, m.gatherAsync(t.Context(), round, i, 3))
		}
		// A program that was disconnected and asks again counts once.
		gone, cancel := context.WithCancel(t.Context())
		lost := m.gatherAsync(gone, round, 1, 3)
		cancel()
		<-lost
		if got, err := m.gather(t.Context(), round, 0, 3); got != "0 1 2" || err != nil {
			t.Errorf("%s: got %q, %v", round, got, err)
		}
		for _, other := range others {
			if got := <-other; got != "0 1 2" {
				t.Errorf("%s: another got %q", round, got)
			}
		}
	}
	m.restart()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got, err := m.gather(ctx, "second", 1, 3); got != "0 1 2" || err != nil {
		t.Errorf("who lost its answer and asks a restarted master gets %q, %v", got, err)
	}
}

func TestAllGatherFailsWhenTheAllocationEnds(t *testing.T) {
	t.Parallel()
	m := newOwnedMaster(t, newOwner(func(task.RunEnd) task.Next { return task.Hold }))
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 2)
	waiting := m.gatherAsync(t.Context(), "r", 0, 2)
	m.changed("1.a.1", 0, terminated, exit(1))
	m.changed("1.a.1", 1, terminated, exit(137))
	m.ended("1.a.1", rm.CauseExited, "")
	if got := <-waiting; !strings.Contains(got, "ended before all of its programs sent their requests") {
		t.Errorf("got %q", got)
	}
}

func TestInvalidAllGatherRequestsFail(t *testing.T) {
	t.Parallel()
	m := newOwnedMaster(t, newOwner(func(task.RunEnd) task.Next { return task.Hold }))
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 2)
	long, err := structpb.NewStruct(map[string]any{"x": strings.Repeat("x", 70<<10)})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		req  *apiv1.AllocationAllGatherRequest
		code status.Code
	}{
		"no request":        {&apiv1.AllocationAllGatherRequest{AllocationId: "1.a.1", NumPeers: 2}, status.InvalidArgument},
		"no others":         {&apiv1.AllocationAllGatherRequest{AllocationId: "1.a.1", RequestUuid: "u"}, status.InvalidArgument},
		"too many":          {&apiv1.AllocationAllGatherRequest{AllocationId: "1.a.1", RequestUuid: "u", NumPeers: 1 << 30}, status.InvalidArgument},
		"much data":         {&apiv1.AllocationAllGatherRequest{AllocationId: "1.a.1", RequestUuid: "u", NumPeers: 1, Data: long}, status.InvalidArgument},
		"not an allocation": {&apiv1.AllocationAllGatherRequest{AllocationId: "9.z.1", RequestUuid: "u", NumPeers: 1}, status.NotFound},
	} {
		if _, err := m.tasks.AllGather(t.Context(), c.req); status.Of(err) != c.code {
			t.Errorf("%s: got %v, want %v", name, err, c.code)
		}
	}
	// If two programs disagree on the number of peers, the later request fails.
	ctx, cancel := context.WithCancel(t.Context())
	two, three := m.gatherAsync(ctx, "r", 0, 2), m.gatherAsync(ctx, "r", 1, 3)
	select {
	case got := <-two:
		two = nil
		mustContain(t, got, "num_peers: is 2, but 3")
	case got := <-three:
		three = nil
		mustContain(t, got, "num_peers: is 3, but 2")
	}
	cancel()
	for _, c := range []<-chan string{two, three} {
		if c != nil {
			<-c
		}
	}
}

func mustContain(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

func TestDaemonsDoNotKeepAnAllocation(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Done })
	m := newOwnedMaster(t, o)
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 2)
	for rank := range 2 {
		m.changed("1.a.1", rank, running, nil)
	}
	id := string(containerID("1.a.1", 1))
	if err := m.tasks.MarkDaemon(t.Context(), "1.a.1", "no"); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want that there is no such container", err)
	}
	if err := m.tasks.MarkDaemon(t.Context(), "1.a.1", id); err != nil {
		t.Fatal(err)
	}
	m.changed("1.a.1", 0, terminated, exit(0))
	if why := m.machine.killed("1.a.1"); why != "only daemons are left" {
		t.Errorf("got killed for %q", why)
	}
	m.changed("1.a.1", 1, terminated, exit(137))
	m.ended("1.a.1", rm.CauseKilled, "only daemons are left")
	if len(o.ends) != 1 || o.ends[0].Cause != rm.CauseExited || o.ends[0].Code == nil || *o.ends[0].Code != 0 {
		t.Errorf("got the end %+v, want success", o.ends)
	}
}

func TestFailedDaemonEndsAllocation(t *testing.T) {
	t.Parallel()
	o := newOwner(func(task.RunEnd) task.Next { return task.Done })
	m := newOwnedMaster(t, o)
	m.begin(trial("1.a", 1))
	m.assign("1.a.1", 2)
	if err := m.tasks.MarkDaemon(t.Context(), "1.a.1", string(containerID("1.a.1", 1))); err != nil {
		t.Fatal(err)
	}
	m.changed("1.a.1", 0, running, nil)
	m.changed("1.a.1", 1, terminated, exit(3))
	if why := m.machine.killed("1.a.1"); !strings.Contains(why, "exit code 3") {
		t.Errorf("got killed for %q", why)
	}
}
