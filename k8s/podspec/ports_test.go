package podspec_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func bases() []int { return []int{12350, 12360, 12365, 29400} }

// Pods with their own network use the base ports. On a node's network the ports depend on the
// allocation, are deterministic, and are declared.
func TestPortsOnANodesNetworkAreTheAllocations(t *testing.T) {
	t.Parallel()
	onHost := template()
	onHost.HostNetwork = true
	for name, c := range map[string]struct {
		template podspec.Template
		podSpec  string
		host     bool
	}{
		"a network of its own":        {template(), "", false},
		"the pool's setting":          {onHost, "", true},
		"the task's own pod spec":     {template(), `{"spec": {"hostNetwork": true}}`, true},
		"a pod spec of other matters": {template(), `{"spec": {"hostPID": false}}`, false},
	} {
		r := request(1, c.template, func(s *agentv1.Spec) {
			if c.template.HostNetwork {
				s.NetworkMode = "host"
			}
		})
		r.Ports, r.PodSpec = bases(), []byte(c.podSpec)
		numbers := podspec.HostPorts(r.Request, r.Template)
		if (numbers != nil) != c.host {
			t.Errorf("%s: got %v", name, numbers)
		}
		o, err := podspec.Build(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var declared []int
		for _, p := range o.Job.Spec.Template.Spec.Containers[0].Ports {
			declared = append(declared, int(p.HostPort))
		}
		if d := cmp.Diff(declared, numbers); d != "" {
			t.Errorf("%s: declared -, numbers +:\n%s", name, d)
		}
	}
}

// The ports of many allocations differ, are at or above the bases, and stay below the range that
// nodes use for outgoing connections.
func TestPortsOfAllocationsDiffer(t *testing.T) {
	t.Parallel()
	onHost := template()
	onHost.HostNetwork = true
	seen := map[int]int{}
	for i := range 400 {
		got := podspec.HostPorts(rm.Request{Allocation: rm.AllocationID("1.task." + string(rune('a'+i))), Ports: bases()}, onHost)
		for j, base := range bases() {
			if got[j] < base || got[j] >= 32768 || got[j]-base != got[0]-bases()[0] {
				t.Fatalf("got %v for %v", got, bases())
			}
		}
		if s := slices.Compact(slices.Sorted(slices.Values(got))); len(s) != len(got) {
			t.Errorf("got one number twice: %v", got)
		}
		seen[got[0]]++
	}
	if len(seen) < 200 {
		t.Errorf("400 allocations have %d numbers", len(seen))
	}
}
