package infra_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	engine "google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/network"
	shared "github.com/det-deploy/det-deploy/cloud/infra"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const hostSubnetwork = "projects/net-host/regions/us-central1/subnetworks/default"

// A subnetwork can be expanded while it contains instances, and cannot shrink.
func TestSubnetworkExpands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		before := s.master(t).Id
		s.wish.cidr = "10.192.0.0/16"
		if d := cmp.Diff(s.plan(t), []string{"update gcp/subnetwork/us-central1; cidr: 10.192.0.0/20 → 10.192.0.0/16"}); d != "" {
			t.Errorf("plan: got -, want +:\n%s", d)
		}
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
		if s.master(t).Id != before {
			t.Error("got another machine, want the same")
		}
		for _, cidr := range []string{"10.192.0.0/20", "10.0.0.0/16"} {
			s.wish.cidr = cidr
			if got := s.plan(t); len(got) == 0 || strings.HasPrefix(got[len(got)-1], "update gcp/subnetwork") {
				t.Errorf("%s: got %q, want it not to be done in place", cidr, got)
			}
		}
	})
}

// The router keeps the NAT configurations of the user.
func TestNATOptions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		c := s.clients(t)
		live, err := api.Do(t.Context(), c.Compute.Routers.Get(c.Project, c.Region, "det-lab-nat"))
		must(t, err)
		other := &engine.RouterNat{
			Name: "users", NatIpAllocateOption: "AUTO_ONLY", SourceSubnetworkIpRangesToNat: "LIST_OF_SUBNETWORKS",
			Subnetworks: []*engine.RouterNatSubnetworkToNat{{
				Name: "regions/us-central1/subnetworks/det-lab-us-central1", SourceIpRangesToNat: []string{"LIST_OF_SECONDARY_IP_RANGES"}, SecondaryIpRangeNames: []string{"pods"},
			}},
		}
		must(t, api.Run(t.Context(), c, c.Compute.Routers.Patch(c.Project, c.Region, "det-lab-nat", &engine.Router{Nats: append(live.Nats, other)})))
		s.wantNothingToDo(t)
		s.wish.natPorts = 128
		want := []string{"update gcp/router/nat; nat-ports: Google's default → 128 or more; nat-log: off → ERRORS_ONLY"}
		if d := cmp.Diff(s.plan(t), want); d != "" {
			t.Errorf("plan: got -, want +:\n%s", d)
		}
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
		live, err = api.Do(t.Context(), c.Compute.Routers.Get(c.Project, c.Region, "det-lab-nat"))
		must(t, err)
		if len(live.Nats) != 2 || live.Nats[1].Name != "users" {
			t.Errorf("got %+v, want the user's and ours", live.Nats)
		}
	})
}

// Instances use a static address, which others can allow in their firewalls.
func TestNATWithStaticAddresses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.up(t.Context()))
		c := s.cluster(t.Context(), nil)
		out := &network.Address{In: c, Name: "out"}
		must(t, shared.Named(out).Create(t.Context()))
		router := shared.Named(&network.Router{In: c, Network: shared.Existing("det-lab"), Addresses: []shared.Ref{out}})
		_, drift, err := router.Find(t.Context())
		must(t, err)
		if len(drift) != 1 || drift[0].Path != "nat-addresses" || drift[0].Want != "det-lab-out" {
			t.Errorf("got %v, want the address to be missing", drift)
		}
		must(t, router.Update(t.Context(), drift))
		if _, drift, err := router.Find(t.Context()); len(drift) > 0 || err != nil {
			t.Errorf("got %v and %v, want nothing to change", drift, err)
		}
	})
}

// An existing network is not changed.
func TestExistingNetworkIsNotChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		before := s.everything(t)
		must(t, s.inExisting(t.Context()))
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
		if got := s.master(t).NetworkInterfaces[0].Subnetwork; !strings.HasSuffix(got, "/"+gcptest.Project+"/regions/us-central1/subnetworks/default") {
			t.Errorf("got the machine in %s, want it in the existing subnetwork", got)
		}
		must(t, s.down(t.Context()))
		if d := cmp.Diff(s.everything(t), before); d != "" {
			t.Errorf("left behind: got -, want +:\n%s", d)
		}
		for _, call := range s.world.Journal() {
			if strings.HasPrefix(call.Op, "compute.networks.") && !strings.HasSuffix(call.Op, ".get") && !strings.HasSuffix(call.Op, ".list") {
				t.Errorf("got %s, want the network only looked at", call.Op)
			}
		}
	})
}

// In a Shared VPC network, one binding is added and later removed, and nothing else is changed.
func TestSharedNetworkBinding(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.inShared(t.Context()))
		s.world.Bind(hostSubnetwork, "roles/compute.networkUser", "user:ann@example.com")
		must(t, s.up(t.Context()))
		s.wantNothingToDo(t)
		agent := "serviceAccount:det-a-lab@" + gcptest.Project + ".iam.gserviceaccount.com"
		want := []string{"roles/compute.networkUser " + agent, "roles/compute.networkUser " + masterMember, "roles/compute.networkUser user:ann@example.com"}
		if d := cmp.Diff(s.world.Bindings(hostSubnetwork), want); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
		if got := s.master(t).NetworkInterfaces[0].Subnetwork; !strings.HasSuffix(got, hostSubnetwork) {
			t.Errorf("got the machine in %s, want it in the shared subnetwork", got)
		}
		must(t, s.down(t.Context()))
		if d := cmp.Diff(s.world.Bindings(hostSubnetwork), want[2:]); d != "" {
			t.Errorf("after down: got -, want +:\n%s", d)
		}
	})
}

// A caller without permissions in the host project gets the command for its administrator.
func TestHostProjectWithoutPermission(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, s.inShared(t.Context()))
		s.world.Bind("projects/"+gcptest.Project, "roles/owner", "user:bob@example.com")
		s.world.Bind("projects/net-host", "roles/compute.networkUser", "user:bob@example.com")
		s.caller = "user:bob@example.com"
		err := s.up(t.Context())
		e, ok := errors.AsType[*cloud.Error](err)
		want := "gcloud compute networks subnets add-iam-policy-binding default --project net-host --region us-central1 --member " + masterMember + " --role roles/compute.networkUser"
		if !ok || e.Kind != cloud.Denied || !strings.Contains(e.Hint(), want) && !strings.Contains(e.Hint(), strings.Replace(want, "det-m-lab", "det-a-lab", 1)) {
			t.Errorf("got %v with hint %q, want the command %q", err, e.Hint(), want)
		}
	})
}
