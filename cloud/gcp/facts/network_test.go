package facts_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func TestOverlappingAddresses(t *testing.T) {
	t.Parallel()
	f := of(t, gcptest.New(t, gcptest.Options{}))
	got, err := f.Overlapping(t.Context(), netip.MustParsePrefix("10.128.0.0/9"), "lab")
	if err != nil || len(got) != 1 || got[0] != "default of network default has 10.132.0.0/20" {
		t.Errorf("got %v and %v, want the default network's of the region", got, err)
	}
	must(t, api.Run(t.Context(), f.Clients, f.Clients.Compute.Networks.Insert(f.Clients.Project, &compute.Network{Name: "det-lab", ForceSendFields: []string{"AutoCreateSubnetworks"}})))
	must(t, api.Run(t.Context(), f.Clients, f.Clients.Compute.Subnetworks.Insert(f.Clients.Project, f.Clients.Region, &compute.Subnetwork{
		Name: "det-lab", Network: "global/networks/det-lab", IpCidrRange: "10.192.0.0/16", Description: "det-deploy-cluster=lab\nsubnetwork",
	})))
	for cluster, want := range map[string]int{"lab": 0, "lab-2": 1} {
		got, err = f.Overlapping(t.Context(), netip.MustParsePrefix("10.192.0.0/20"), cluster)
		if err != nil || len(got) != want {
			t.Errorf("%s: got %v and %v, want %d", cluster, got, err, want)
		}
	}
}

func TestConnection(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	w.AddProject("hosts", 77)
	f := of(t, w)
	at := facts.Place{Project: "hosts", Network: "default", Subnetwork: "default"}
	got, err := f.Connection(t.Context(), at)
	must(t, err)
	want := facts.Connection{Range: netip.MustParsePrefix("10.132.0.0/20"), Gateway: true}
	if diff := cmp.Diff(got, want, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || got.Addresses() != 4092 {
		t.Errorf("%d addresses (-got +want):\n%s", got.Addresses(), diff)
	}
	host := f.Clients.In("hosts")
	must(t, api.Run(t.Context(), host, host.Compute.Routers.Insert(host.Project, host.Region, &compute.Router{
		Name: "out", Network: "projects/hosts/global/networks/default",
		Nats: []*compute.RouterNat{{Name: "nat", NatIpAllocateOption: "AUTO_ONLY", SourceSubnetworkIpRangesToNat: "ALL_SUBNETWORKS_ALL_IP_RANGES"}},
	})))
	if got, err = f.Connection(t.Context(), at); err != nil || got.NAT != "out" {
		t.Errorf("got %+v and %v, want the router", got, err)
	}
	must(t, api.Run(t.Context(), host, host.Compute.Routers.Delete(host.Project, host.Region, "out")))
	must(t, api.Run(t.Context(), host, host.Compute.Networks.Insert(host.Project, &compute.Network{Name: "far", ForceSendFields: []string{"AutoCreateSubnetworks"}})))
	for network, nat := range map[string]*compute.RouterNat{
		"far": {Name: "nat", NatIpAllocateOption: "AUTO_ONLY", SourceSubnetworkIpRangesToNat: "ALL_SUBNETWORKS_ALL_IP_RANGES"},
		"default": {
			Name: "nat", NatIpAllocateOption: "AUTO_ONLY", SourceSubnetworkIpRangesToNat: "LIST_OF_SUBNETWORKS",
			Subnetworks: []*compute.RouterNatSubnetworkToNat{{Name: "projects/hosts/regions/us-central1/subnetworks/other", SourceIpRangesToNat: []string{"ALL_IP_RANGES"}}},
		},
	} {
		must(t, api.Run(t.Context(), host, host.Compute.Routers.Insert(host.Project, host.Region, &compute.Router{
			Name: "of-" + network, Network: "projects/hosts/global/networks/" + network, Nats: []*compute.RouterNat{nat},
		})))
	}
	if got, err = f.Connection(t.Context(), at); err != nil || got.NAT != "" {
		t.Errorf("got %+v and %v, want no router for that subnetwork", got, err)
	}
	at.Network = "other"
	if got, err = f.Connection(t.Context(), at); err != nil || got.OtherNetwork != "default" {
		t.Errorf("got %+v and %v, want that it is of another network", got, err)
	}
	at.Subnetwork = "nobodys"
	_, err = f.Connection(t.Context(), at)
	wantRefusal(t, err, cloud.NotFound, "subnetwork nobodys of project hosts")
}

func rule(priority int64, change func(*compute.Firewall)) *compute.Firewall {
	r := &compute.Firewall{Priority: priority, Direction: "INGRESS", SourceRanges: []string{"10.0.0.0/8"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp", Ports: []string{"8443"}}}}
	change(r)
	return r
}

func TestPasses(t *testing.T) {
	t.Parallel()
	agent, master := facts.Machine{Tags: []string{"agent"}, Account: "a@x"}, facts.Machine{Tags: []string{"master"}, Account: "m@x"}
	in := facts.Traffic{Machine: master, From: &agent, Range: netip.MustParsePrefix("10.1.0.0/20"), First: 8443, Last: 8443}
	out := facts.Traffic{Machine: agent, Range: netip.MustParsePrefix("0.0.0.0/0"), First: 443, Last: 443, Outgoing: true}
	wide := in
	wide.First, wide.Last = 1024, 65535
	deny := func(r *compute.Firewall) {
		r.Denied, r.Allowed = []*compute.FirewallDenied{{IPProtocol: "tcp"}}, nil
	}
	for _, tc := range []struct {
		name  string
		rules []*compute.Firewall
		t     facts.Traffic
		want  bool
	}{
		{"no rule", nil, in, false},
		{"no rule, outwards", nil, out, true},
		{"by addresses", []*compute.Firewall{rule(1000, func(*compute.Firewall) {})}, in, true},
		{"of some of the addresses", []*compute.Firewall{rule(1000, func(r *compute.Firewall) { r.SourceRanges = []string{"10.1.0.0/24"} })}, in, false},
		{"by tag", []*compute.Firewall{rule(1000, func(r *compute.Firewall) { r.SourceRanges, r.SourceTags = nil, []string{"agent"} })}, in, true},
		{"by account", []*compute.Firewall{rule(1000, func(r *compute.Firewall) { r.SourceRanges, r.SourceServiceAccounts = nil, []string{"a@x"} })}, in, true},
		{"to other machines", []*compute.Firewall{rule(1000, func(r *compute.Firewall) { r.TargetTags = []string{"web"} })}, in, false},
		{"to the machine's account", []*compute.Firewall{rule(1000, func(r *compute.Firewall) { r.TargetServiceAccounts = []string{"m@x"} })}, in, true},
		{"to other ports", []*compute.Firewall{rule(1000, func(*compute.Firewall) {})}, wide, false},
		{"to all ports", []*compute.Firewall{rule(1000, func(r *compute.Firewall) { r.Allowed[0].Ports = []string{"1-65535"} })}, wide, true},
		{"of another protocol", []*compute.Firewall{rule(1000, func(r *compute.Firewall) { r.Allowed[0].IPProtocol = "udp" })}, in, false},
		{"of every protocol", []*compute.Firewall{rule(1000, func(r *compute.Firewall) { r.Allowed = []*compute.FirewallAllowed{{IPProtocol: "all"}} })}, wide, true},
		{"denied before", []*compute.Firewall{rule(1000, func(*compute.Firewall) {}), rule(900, deny)}, in, false},
		{"denied at once", []*compute.Firewall{rule(1000, func(*compute.Firewall) {}), rule(1000, deny)}, in, false},
		{"denied behind", []*compute.Firewall{rule(1000, func(*compute.Firewall) {}), rule(1100, deny)}, in, true},
		{"outwards, denied", []*compute.Firewall{rule(1000, func(r *compute.Firewall) {
			deny(r)
			r.Direction, r.SourceRanges, r.DestinationRanges = "EGRESS", nil, []string{"0.0.0.0/0"}
		})}, out, false},
	} {
		if got := facts.Passes(tc.rules, tc.t); got != tc.want {
			t.Errorf("%s: got %t, want %t", tc.name, got, tc.want)
		}
	}
}

func TestRulesOfOneNetwork(t *testing.T) {
	t.Parallel()
	f := of(t, gcptest.New(t, gcptest.Options{}))
	got, err := f.FirewallRules(t.Context(), facts.Place{Project: gcptest.Project, Network: "default"})
	if err != nil || len(got) != 2 {
		t.Errorf("got %d rules and %v, want the two of the default network", len(got), err)
	}
	must(t, api.Run(t.Context(), f.Clients, f.Clients.Compute.Firewalls.Patch(f.Clients.Project, got[0].Name, &compute.Firewall{Disabled: true})))
	got, err = f.FirewallRules(t.Context(), facts.Place{Project: gcptest.Project, Network: "default"})
	if err != nil || len(got) != 1 {
		t.Errorf("got %d rules and %v, want those that are enforced", len(got), err)
	}
	got, err = f.FirewallRules(t.Context(), facts.Place{Project: gcptest.Project, Network: "other"})
	if err != nil || len(got) != 0 {
		t.Errorf("got %d rules and %v, want none", len(got), err)
	}
}
