package task_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// A container's request for the addresses of the others is answered when the last one has asked. The
// requests survive a restart of the master.
func TestARendezvousWaitsForTheLast(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	a := first(m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId())
	m.assign(a, 2)
	containers := []rm.ContainerID{containerID(a, 0), containerID(a, 1)}
	runs := func(rank int, host string) {
		t.Helper()
		err := m.tasks.Changed(t.Context(), rm.ContainerChange{
			Allocation: a, Container: containers[rank], Rank: rank, State: running, Host: host, At: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ask := func(of rm.ContainerID, timeout time.Duration) (*apiv1.RendezvousInfo, error) {
		return m.tasks.Rendezvous(t.Context(), string(a), string(of), timeout)
	}
	runs(0, "10.0.0.1")
	if _, err := ask(containers[0], time.Millisecond); status.Of(err) != status.Unavailable {
		t.Errorf("got %v, want that it asks again", err)
	}
	if _, err := ask("c9", time.Hour); status.Of(err) != status.NotFound {
		t.Errorf("got %v for an unknown container, want NotFound", err)
	}
	m.restart()
	got := make(chan *apiv1.RendezvousInfo, 1)
	go func() {
		info, err := ask(containers[1], time.Minute)
		if err != nil {
			t.Error(err)
		}
		got <- info
	}()
	runs(1, "10.0.0.2")
	want := &apiv1.RendezvousInfo{Addresses: []string{"10.0.0.1", "10.0.0.2"}, Rank: 1, Slots: []int32{1, 1}}
	if diff := cmp.Diff(<-got, want, protocmp.Transform()); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
}
