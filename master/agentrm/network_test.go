package agentrm

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func TestPortsAreFreeAndAboveTheirBases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bases, used []int
		first       int
		want        []int
	}{
		"nothing is used":          {[]int{12350, 29400}, nil, 0, []int{12350, 29400}},
		"the base is used":         {[]int{12350, 29400}, []int{12350, 12351, 29400}, 0, []int{12352, 29401}},
		"one base leads to others": {[]int{12360, 12361}, []int{12360}, 0, []int{12361, 12362}},
		"the last ones are used":   {[]int{65534}, []int{65534, 65535}, 0, []int{65534}},
		"none is wanted":           {nil, []int{1}, 0, nil},
		"a cluster's first ports":  {[]int{2600, 2900}, []int{2607}, 7, []int{2608, 2907}},
	} {
		used := map[int]bool{}
		for _, n := range c.used {
			used[n] = true
		}
		if diff := cmp.Diff(choosePorts(c.bases, c.first, used), c.want); diff != "" {
			t.Errorf("%s: got -, want +:\n%s", name, diff)
		}
	}
}

func listening(q *rm.Request) { q.Ports = []int{12350, 12351} }

func (o *owner) portsOf(id rm.AllocationID) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.ports), func(s string) bool { return !strings.HasPrefix(s, string(id)) })
}

func TestAllocationsOnOneMachineHaveDistinctPorts(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(cfg *Config) { cfg.ReservedPorts = []int{12609} })
	on := func(machine string) func(*agentv1.Hello) {
		return func(h *agentv1.Hello) { h.Address = machine }
	}
	// Cluster "c1" begins 257 above the bases. The master sees them all at loopback; a and b report that they are on one machine.
	c.join("a", 2, on("10.0.0.1"))
	c.submit("first", 1, listening)
	c.await(t, "first.1 assigned")
	c.submit("second", 1, listening)
	c.await(t, "second.1 assigned")
	got := append(c.portsOf("first.1"), c.portsOf("second.1")...)
	if diff := cmp.Diff(got, []string{"first.1[12607 12608]", "second.1[12610 12611]"}); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	c.join("b", 2, on("10.0.0.1"))
	c.submit("gang", 2, listening)
	c.await(t, "gang.1 assigned")
	if diff := cmp.Diff(c.portsOf("gang.1"), []string{"gang.1[12612 12613]"}); diff != "" {
		t.Errorf("on another agent of the machine: got -, want +:\n%s", diff)
	}
	c.restart()
	c.until("they are placed again", func() bool { return len(c.portsOf("gang.1")) > 1 && len(c.portsOf("second.1")) > 1 })
	for _, id := range []rm.AllocationID{"second.1", "gang.1"} {
		if got := slices.Compact(c.portsOf(id)); len(got) != 1 {
			t.Errorf("after a restart, got %q, want the same ports", got)
		}
	}
}

func TestAgentsOfOneMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b agent
		want bool
	}{
		"they report one machine":  {agent{machine: "m", address: "10.0.0.1"}, agent{machine: "m", address: "10.0.0.2"}, true},
		"they report two machines": {agent{machine: "m", address: "10.0.0.1"}, agent{machine: "n", address: "10.0.0.1"}, false},
		"one reports none":         {agent{machine: "m", address: "10.0.0.1"}, agent{address: "10.0.0.1"}, true},
		"neither reports one":      {agent{own: "10.0.0.1"}, agent{own: "10.0.0.1"}, true},
		"nothing is known":         {agent{}, agent{}, false},
	} {
		if got := sameMachine(&c.a, &c.b); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
