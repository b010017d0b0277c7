package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// runsAt returns the event that a container runs at an address.
func runsAt(rank int, host string) rm.ContainerChange {
	return rm.ContainerChange{Allocation: "t.1", Container: id(rank), Rank: rank, State: apiv1.Container_STATE_RUNNING, Host: host, At: at(2)}
}

// met returns the allocation after all its containers have asked.
func met(a Allocation) Allocation {
	for _, c := range a.Containers {
		a = a.Meet(c.ID)
	}
	return a
}

func TestRendezvousCompletesWhenAllHaveAsked(t *testing.T) {
	t.Parallel()
	a := placed(3)
	a.Containers[0], a.Containers[2] = a.Containers[2], a.Containers[0] // the list is not in the order of ranks
	a.Containers[1].Devices = []Device{{}, {}}
	for rank := range 3 {
		if _, complete, err := a.Rendezvous(id(1)); complete || err != nil {
			t.Errorf("with %d of 3 containers: got complete %t, %v", rank, complete, err)
		}
		a = a.Change(runsAt(rank, fmt.Sprintf("10.0.0.%d", rank)))
	}
	a = a.Meet(id(1)).Meet(id(2)).Meet(id(2)).Meet("c9")
	if _, complete, err := a.Rendezvous(id(1)); complete || err != nil {
		t.Errorf("with one that has not asked: got complete %t, %v", complete, err)
	}
	a = a.Meet(id(0))
	got, complete, err := a.Rendezvous(id(1))
	want := Rendezvous{Addresses: []string{"10.0.0.0", "10.0.0.1", "10.0.0.2"}, Slots: []int{0, 2, 0}, Rank: 1}
	if diff := cmp.Diff(got, want); diff != "" || !complete || err != nil {
		t.Errorf("got complete %t, %v and -, want +:\n%s", complete, err, diff)
	}
	a = a.Change(rm.ContainerChange{Allocation: "t.1", Container: id(0), State: apiv1.Container_STATE_TERMINATED, Exit: exited(0), At: at(3)})
	if got, complete, err = a.Rendezvous(id(2)); !complete || err != nil || got.Rank != 2 || got.Addresses[0] != "10.0.0.0" {
		t.Errorf("got %+v, %t, %v for one that asks late, want the same addresses", got, complete, err)
	}
}

func TestImpossibleRendezvous(t *testing.T) {
	t.Parallel()
	half := placed(2).Change(runsAt(0, "10.0.0.1"))
	ended := half.Change(rm.ContainerChange{Allocation: "t.1", Container: id(1), Rank: 1, State: apiv1.Container_STATE_TERMINATED, Exit: exited(1), At: at(3)})
	absent := half.Change(runsAt(1, "10.0.0.2")).Meet(id(0)).
		Change(rm.ContainerChange{Allocation: "t.1", Container: id(1), Rank: 1, State: apiv1.Container_STATE_TERMINATED, Exit: exited(0), At: at(3)})
	for name, c := range map[string]struct {
		a  Allocation
		of rm.ContainerID
	}{
		"one has ended and never asked": {absent, id(0)},
		"one has ended before it ran":   {ended, id(0)},
		"it is being killed":            {half.Kill("killed by ann", at(3)), id(0)},
		"there is no such container":    {half, "c9"},
	} {
		if _, complete, err := c.a.Rendezvous(c.of); complete || err == nil {
			t.Errorf("%s: got complete %t and %v, want an error", name, complete, err)
		}
	}
}

// An earlier version of the master recorded no hosts; its successor receives the states of running
// containers again.
func TestRendezvousOfRestoredContainers(t *testing.T) {
	t.Parallel()
	a := met(placed(2)).Change(runsAt(0, "")).Change(runsAt(1, ""))
	if _, complete, err := a.Rendezvous(id(0)); complete || err != nil {
		t.Errorf("without hosts: got complete %t, %v", complete, err)
	}
	before := a
	a = a.Change(runsAt(0, "10.0.0.1")).Change(runsAt(1, "10.0.0.2")).Change(runsAt(1, "10.0.0.9"))
	got, complete, err := a.Rendezvous(id(0))
	if diff := cmp.Diff(got.Addresses, []string{"10.0.0.1", "10.0.0.2"}); diff != "" || !complete || err != nil {
		t.Errorf("got complete %t, %v and -, want +:\n%s", complete, err, diff)
	}
	if before.Containers[0].Host != "" {
		t.Error("the allocation before was changed too")
	}
}

// Containers on several agents must not get their own address for another, nor two the same address.
func TestUnreachableContainers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agents   [2]rm.AgentID
		hosts    [2]string
		want     string
		machines [2]string
	}{
		"one is on the master's machine": {[2]rm.AgentID{"a", "b"}, [2]string{"10.0.0.1", "127.0.0.1"}, "agent b is only known by its loopback address", [2]string{}},
		"both are":                       {[2]rm.AgentID{"a", "b"}, [2]string{"::1", "::1"}, "agent a is only known by its loopback address", [2]string{}},
		"both are behind one address":    {[2]rm.AgentID{"a", "b"}, [2]string{"10.0.0.1", "10.0.0.1"}, "agents a and b are both known by the address 10.0.0.1", [2]string{}},
		"both are on one agent":          {[2]rm.AgentID{"a", "a"}, [2]string{"127.0.0.1", "127.0.0.1"}, "", [2]string{}},
		"both are on one machine":        {[2]rm.AgentID{"a", "b"}, [2]string{"10.0.0.1", "10.0.0.1"}, "", [2]string{"m", "m"}},
		"both are on the master's":       {[2]rm.AgentID{"a", "b"}, [2]string{"127.0.0.1", "127.0.0.1"}, "", [2]string{"m", "m"}},
		"they are on two":                {[2]rm.AgentID{"a", "b"}, [2]string{"10.0.0.1", "10.0.0.1"}, "agents a and b are both known", [2]string{"m", "n"}},
		"each has its own":               {[2]rm.AgentID{"a", "b"}, [2]string{"10.0.0.1", "10.0.0.2"}, "", [2]string{}},
	} {
		a := met(placed(2))
		for rank := range 2 {
			n := runsAt(rank, c.hosts[rank])
			n.Agent, n.Machine = c.agents[rank], c.machines[rank]
			a = a.Change(n)
		}
		_, complete, err := a.Rendezvous(id(0))
		if said := fmt.Sprint(err); complete != (c.want == "") || c.want == "" && err != nil || !strings.Contains(said, c.want) {
			t.Errorf("%s: got complete %t, %v, want %q", name, complete, err, c.want)
		}
	}
}

func TestTheLogNamesTheContainersThatOthersWaitFor(t *testing.T) {
	t.Parallel()
	said := func(a Allocation) string {
		if a.Missed == "" {
			return ""
		}
		return a.Lines[len(a.Lines)-1].Text
	}
	a := placed(3).NoteMissing(at(3))
	if said(a) != "" {
		t.Errorf("got %q while no container waits", said(a))
	}
	for _, step := range []struct {
		change func(Allocation) Allocation
		want   string
	}{
		{func(a Allocation) Allocation { return a.Meet(id(1)) }, "1 of 3 containers are waiting for the others: rank 0 on a (not started), rank 2 on a (not started)"},
		{func(a Allocation) Allocation { return a.Meet(id(0)).Change(runsAt(2, "10.0.0.2")) }, "2 of 3 containers are waiting for the others: rank 2 on a (running; "},
	} {
		for i := range a.Containers {
			a.Containers[i].Agent = "a"
		}
		before := len(a.Lines)
		a = step.change(a).NoteMissing(at(4)).NoteMissing(at(5))
		if !strings.HasPrefix(said(a), step.want) || len(a.Lines) != before+1 {
			t.Errorf("got %q in %d lines, want %q once", said(a), len(a.Lines)-before, step.want)
		}
	}
	all := met(a)
	if got := all.NoteMissing(at(6)); len(got.Lines) != len(all.Lines) {
		t.Errorf("got %q when all are there", said(got))
	}
}
