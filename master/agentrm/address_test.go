package agentrm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Agents that share one address in the master's view, or connect by loopback, are reached at the address
// that they report.
func TestGangUsesReportedAddresses(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	says := func(address string) func(*agentv1.Hello) {
		return func(h *agentv1.Hello) { h.Address = address }
	}
	a, _ := c.join("a", 2, says("10.0.0.1"))
	b, _ := c.join("b", 2, says("10.0.0.2"))
	c.submit("gang", 4)
	a.reports(a.started(), running)
	c.await(t, "gang.1 rank 0 RUNNING")
	b.reports(b.started(), running)
	c.await(t, "gang.1 rank 1 RUNNING")
	if diff := cmp.Diff(c.where(), []string{"10.0.0.1", "10.0.0.2"}); diff != "" {
		t.Errorf("hosts: got -, want +:\n%s", diff)
	}
}

func TestReportedAddressesAreValidated(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"10.0.0.1": "10.0.0.1", "fd00::1": "fd00::1", "": "", "127.0.0.1": "", "0.0.0.0": "", "fe80::1": "", "fe80::1%eth0": "",
		"224.0.0.1": "", "host.example": "", "10.0.0.1:80": "",
	} {
		if got := ownAddress(said); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

// If the master sees a distinct address of each agent, it takes precedence.
func TestObservedAddressTakesPrecedence(t *testing.T) {
	t.Parallel()
	of := &allocation{containers: []*container{{agent: "a"}, {agent: "b"}}}
	for name, c := range map[string]struct{ address, other, own, want string }{
		"each has its own": {"10.0.0.1", "10.0.0.2", "172.17.0.2", "10.0.0.1"},
		"they share one":   {"10.0.0.1", "10.0.0.1", "172.17.0.2", "172.17.0.2"},
		"it is loopback":   {"127.0.0.1", "10.0.0.2", "10.0.0.9", "10.0.0.9"},
		"it reports none":  {"127.0.0.1", "10.0.0.2", "", "127.0.0.1"},
	} {
		a := &agent{id: "a", address: c.address, own: c.own}
		r := &state{}
		r.agents = map[rm.AgentID]*agent{"a": a, "b": {id: "b", address: c.other}}
		if got := r.hostOn(a, of); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestGangUsesTheInterfaceOfItsPool(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(c *Config) { c.Pools[0].Interface = "ib0" })
	has := func(addresses map[string]string) func(*agentv1.Hello) {
		return func(h *agentv1.Hello) { h.Address, h.Addresses = "192.168.0.1", addresses }
	}
	a, _ := c.join("a", 2, has(map[string]string{"eth0": "192.168.0.1", "ib0": "10.0.0.1"}))
	b, _ := c.join("b", 2, has(map[string]string{"eth0": "192.168.0.2", "ib0": "10.0.0.2"}))
	c.submit("gang", 4)
	a.reports(a.started(), running)
	c.await(t, "gang.1 rank 0 RUNNING")
	b.reports(b.started(), running)
	c.await(t, "gang.1 rank 1 RUNNING")
	if diff := cmp.Diff(c.where(), []string{"10.0.0.1", "10.0.0.2"}); diff != "" {
		t.Errorf("hosts: got -, want +:\n%s", diff)
	}
}

func TestErrorNamesAgentWithoutInterface(t *testing.T) {
	t.Parallel()
	c := newCluster(t, func(c *Config) { c.Pools[0].Interface = "ib0" })
	c.join("a", 2, func(h *agentv1.Hello) { h.Addresses = map[string]string{"ib0": "10.0.0.1"} })
	c.join("b", 2, func(h *agentv1.Hello) { h.Addresses = map[string]string{"eth0": "10.0.0.2", "eth1": "10.0.1.2"} })
	c.submit("gang", 4)
	c.await(t, "gang.1 ended: refused: agent b has no address on the network interface ib0 (task_container_defaults.dtrain_network_interface of pool default); its interfaces are eth0, eth1")
}
