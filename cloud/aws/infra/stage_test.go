package infra_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/network"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	shared "github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/record"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
)

// wish holds the variable settings of the tests' cluster.
type wish struct {
	tags       map[string]string
	inbound    string
	ssh        bool
	policy     string
	versioning bool
	days       int32
	keepLogs   bool
	volumeGiB  int32
	rootGiB    int32
	machine    string
	cidr       string
	given      string
}

func modest() wish {
	return wish{
		inbound: "203.0.113.0/24", policy: "ec2:DescribeInstances", days: 30,
		volumeGiB: 100, rootGiB: 30, machine: "m6i.large", cidr: "10.192.0.0/16",
	}
}

// blueprint returns a cluster with one resource of each kind.
func blueprint(c *mark.Cluster, w wish, image string) []resource.Resource {
	c.Tags = w.tags
	vpc := &network.VPC{In: c, Name: "main", CIDR: netip.MustParsePrefix(w.cidr)}
	gateway := &network.Gateway{In: c, Name: "main", VPC: vpc}
	var subnets []*network.Subnet
	var refs []shared.Ref
	for i, zone := range []string{"a", "b"} {
		cidr := netip.PrefixFrom(vpc.CIDR.Addr().Next(), 24).Masked()
		for range i + 1 {
			b := cidr.Addr().As4()
			b[2]++
			cidr = netip.PrefixFrom(netip.AddrFrom4(b), 24)
		}
		s := &network.Subnet{In: c, Name: zone, VPC: vpc, Zone: c.Clients.Region + zone, CIDR: cidr}
		subnets, refs = append(subnets, s), append(refs, s)
	}
	routes := &network.Routes{In: c, Name: "public", VPC: vpc, Gateway: gateway, Subnets: refs}
	endpoint := &network.Endpoint{In: c, Name: "s3", VPC: vpc, Routes: routes}
	gMaster := &network.Group{In: c, Name: "master", VPC: vpc}
	gAgents := &network.Group{In: c, Name: "agents", VPC: vpc}
	rMaster := &network.Rules{In: c, Name: "master", Group: gMaster, Ingress: network.MasterRules(8443, []netip.Prefix{netip.MustParsePrefix(w.inbound)}, gAgents, w.ssh)}
	rAgents := &network.Rules{In: c, Name: "agents", Group: gAgents, Ingress: network.AgentRules(gMaster, gAgents)}
	document := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":%q,"Resource":"*"}]}`, w.policy)
	roleMaster := &identity.Role{In: c, Name: "master", Policies: map[string]string{"master": document}}
	roleAgent := &identity.Role{In: c, Name: "agent", Policies: map[string]string{"agent": document}}
	profileMaster := &identity.Profile{In: c, Name: "master", Role: roleMaster}
	profileAgent := &identity.Profile{In: c, Name: "agent", Role: roleAgent}
	address := &network.Address{In: c, Name: "master"}
	volume := &storage.Volume{In: c, Name: "data", Zone: subnets[0].Zone, SizeGiB: w.volumeGiB}
	master := &compute.Master{
		In: c, Name: "master", Image: image, Type: w.machine, Subnet: subnets[0], Groups: []shared.Ref{gMaster},
		Profile: profileMaster, PublicIP: true, RootGiB: w.rootGiB, UserData: func(context.Context) ([]byte, error) { return []byte("#!/bin/sh\n"), nil },
		After: []string{routes.ID(), rMaster.ID()},
	}
	password := &storage.Secret{In: c, Name: "admin-password", OpensData: true, Generate: func() (secret.Value, error) { return secret.Literal("swordfish"), nil }}
	out := []resource.Resource{
		shared.Nonced(vpc), shared.Nonced(gateway), shared.Nonced(subnets[0]), shared.Nonced(subnets[1]),
		shared.Nonced(routes), shared.Nonced(endpoint), shared.Nonced(gMaster), shared.Nonced(gAgents), rMaster, rAgents,
		roleMaster, roleAgent, profileMaster, profileAgent, shared.Nonced(address), shared.Nonced(volume), shared.Nonced(master), password,
		&storage.Bucket{In: c, Versioning: w.versioning},
		&storage.LogGroup{In: c, Days: w.days, Retain: w.keepLogs},
		&compute.Attachment{In: c, Name: "data", Volume: volume, Instance: master},
		&network.Association{In: c, Name: "master", Address: address, Instance: master},
	}
	if w.given != "" {
		out = append(out, &storage.Secret{In: c, Name: "db-url", Given: secret.Literal(w.given)})
	}
	return out
}

// stage is an account, the record of a cluster in it, and the wanted resources.
type stage struct {
	account string
	image   string
	clients func(*resource.Gate) api.Clients
	pause   func(context.Context, time.Duration) error
	store   *recordtest.Memory
	settle  time.Duration
	wish    wish
	// draw replaces the blueprint.
	draw func(*mark.Cluster) []resource.Resource
	dead func(record.Holder) bool
}

// deployment is a cluster in that account without preflight checks and readiness waits.
type deployment struct {
	infra.Objects
	s *stage
}

func (d deployment) Wanted() ([]resource.Resource, error) {
	if d.s.draw != nil {
		return d.s.draw(d.Cluster), nil
	}
	return blueprint(d.Cluster, d.s.wish, d.s.image), nil
}
func (deployment) Checks() []doctor.Check                    { return nil }
func (deployment) Ready(context.Context, func(string)) error { return nil }

func (s *stage) cluster(gate *resource.Gate) *mark.Cluster {
	return &mark.Cluster{ID: "lab", Account: s.account, Clients: s.clients(gate), Pause: s.pause}
}

// inventory returns the existing objects of the cluster.
func (s *stage) inventory(t *testing.T) []resource.Found {
	t.Helper()
	fs, err := infra.Objects{Cluster: s.cluster(nil)}.Inventory(t.Context(), "lab")
	must(t, err)
	return fs
}

// operator returns an installer as in a new process.
func (s *stage) operator() *installer.Installer {
	gate := new(resource.Gate)
	return &installer.Installer{
		Cluster: "lab", Platform: "aws", Deployment: deployment{infra.Objects{Cluster: s.cluster(gate)}, s}, Store: s.store, Gate: gate,
		Holder: record.Holder{Owner: "ann", Host: "h", Nonce: "ann"}, Dead: s.dead,
		Apply: apply.Config{Settle: s.settle},
	}
}

func (s *stage) up(ctx context.Context) error {
	in := s.operator()
	p, err := in.Plan(ctx)
	if err != nil {
		return err
	}
	return in.Up(ctx, p)
}

func (s *stage) down(ctx context.Context, deleteData bool) (installer.Receipt, error) {
	in := s.operator()
	p, err := in.PlanDown(ctx, deleteData)
	if err != nil {
		return installer.Receipt{}, err
	}
	return in.Down(ctx, p, deleteData)
}

// plan returns the changes that up would make.
func (s *stage) plan(t *testing.T) []string {
	t.Helper()
	p, err := s.operator().Plan(t.Context())
	must(t, err)
	return hostedtest.ListChanges(p)
}

func (s *stage) wantNothingToDo(t *testing.T) {
	t.Helper()
	if got := s.plan(t); len(got) > 0 {
		t.Errorf("got a plan with something to do, want none:\n%s", strings.Join(got, "\n"))
	}
}

// live returns the inventory as "kind/name", sorted.
func (s *stage) live(t *testing.T) []string {
	t.Helper()
	fs := s.inventory(t)
	resource.Sort(fs)
	out := []string{}
	for _, f := range fs {
		out = append(out, f.Kind+"/"+strings.TrimSuffix(f.Name, "-"+s.account))
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
