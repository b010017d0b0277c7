package infra_test

import (
	"cmp"
	"context"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	engine "google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/logging/v2"
	"google.golang.org/api/secretmanager/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/network"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	shared "github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/record"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// wish holds the variable settings of the tests' cluster.
type wish struct {
	labels      map[string]string
	cidr        string
	inbound     string
	ssh         bool
	nat         bool
	disk        int64
	permissions []string
	zones       []string
	password    string
	machine     string
	rootGB      int64
	zone        string
	tags        []string
	metadata    map[string]string
	account     shared.Ref
	noAddress   bool
	// existing is a network of the project whose subnetwork has the same name. onShared is a
	// subnetwork of another project.
	existing, onShared string
	natPorts           int64
	outside            string
}

func modest() wish {
	return wish{cidr: "10.192.0.0/20", inbound: "203.0.113.0/24", nat: true, disk: 100, machine: "n2-standard-2", rootGB: 20, zone: "us-central1-a", zones: []string{"us-central1-a", "us-central1-b"}}
}

// whole is the complete inventory for the default wish.
var whole = []string{
	"address/det-lab-master", "bucket/det-deploy-lab-data-415104041262", "disk/det-lab-data", "firewall-rule/det-lab-agents", "firewall-rule/det-lab-master-port",
	"instance/det-lab-master", "network/det-lab",
	"role/detDeployAgent", "role/detDeployMaster", "role-binding/bucket/" + dataBucket + " det-a-lab", "role-binding/bucket/" + dataBucket + " det-m-lab",
	"role-binding/det-a-lab", "role-binding/det-m-lab", "role-binding/secret/det-deploy-lab-db-url det-m-lab",
	"router/det-lab-nat", "secret/det-deploy-lab-admin-password", "secret/det-deploy-lab-db-url", "service-account/det-a-lab", "service-account/det-m-lab", "subnetwork/det-lab-us-central1",
}

const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

// blueprint returns a cluster with one resource of each kind.
func blueprint(c *mark.Cluster, w wish) []resource.Resource {
	c.Labels, c.Outside = w.labels, w.outside
	ownNet := &network.Network{In: c}
	ownSubnet := &network.Subnetwork{In: c, Network: ownNet, CIDR: netip.MustParsePrefix(w.cidr)}
	var net, subnet shared.Ref = ownNet, ownSubnet
	if existing := cmp.Or(w.existing, w.onShared); existing != "" {
		net, subnet = shared.Existing(existing), shared.Existing(existing)
	}
	address := &network.Address{In: c, Name: "master"}
	data := &storage.Disk{In: c, Zone: w.zone, SizeGB: w.disk, Type: "pd-balanced"}
	bucket := &storage.Bucket{In: c}
	database := &storage.Secret{In: c, Name: "db-url", Generate: generateSecret, OpensData: true}
	m := &compute.Master{
		In: c, Zone: w.zone, Type: w.machine, Image: "projects/debian-cloud/global/images/family/debian-12", RootGB: w.rootGB,
		Subnetwork: subnet, Tags: append(w.tags, c.FullName("master")), Data: data, Address: address, Metadata: w.metadata,
		Scopes:  []string{cloudPlatform},
		Startup: func(context.Context) (string, error) { return "#!/usr/bin/env python3\n", nil },
	}
	if w.noAddress {
		m.Address = nil
	}
	agents, master := []string{c.FullName("agent")}, []string{c.FullName("master")}
	inbound := []netip.Prefix{netip.MustParsePrefix(w.inbound)}
	out := []resource.Resource{
		shared.Named(address),
		shared.Named(data),
		shared.Named(bucket),
		&storage.Secret{In: c, Name: "admin-password", Given: secret.Literal(w.password), Generate: generateSecret},
		database,
	}
	for _, name := range []string{"agent", "master"} {
		account := &identity.Account{In: c, Name: name}
		role := &identity.Role{In: c, Name: name, Permissions: append(w.permissions, "compute.instances.list", "compute.zones.list")}
		if name == "master" {
			m.Account = cmp.Or[shared.Ref](w.account, account)
		}
		out = append(out, account, role,
			&identity.Binding{In: c, Name: name, Account: account, On: identity.OnProject(c), Grants: identity.GrantsIf(role, identity.NameConditions(c, w.zones))},
			&identity.Binding{
				In: c, Name: name + "-on-data", Account: account, On: identity.OnBucket(c, bucket.FullName()), After: bucket,
				Grants: []identity.Grant{{Role: identity.Predefined("roles/storage.objectUser")}},
			})
	}
	boss, agent := &identity.Account{In: c, Name: "master"}, &identity.Account{In: c, Name: "agent"}
	out = append(out,
		&identity.Binding{
			In: c, Name: "master-on-agent", Account: boss, On: identity.OnAccount(c, agent.Email()), After: agent,
			Grants: []identity.Grant{{Role: identity.Predefined("roles/iam.serviceAccountUser")}},
		},
		&identity.Binding{
			In: c, Name: "master-on-db-url", Account: boss, On: identity.OnSecret(c, database.FullName()), After: database,
			Grants: []identity.Grant{{Role: identity.Predefined("roles/secretmanager.secretAccessor")}},
		})
	out = append(out, shared.Named(m))
	switch {
	case w.onShared != "":
		return append(out, identity.NetworkUser(c, "master", boss), identity.NetworkUser(c, "agent", agent))
	case w.existing == "":
		out = append(out, shared.Named(ownNet), shared.Named(ownSubnet))
	}
	out = append(out,
		shared.Named(&network.Firewall{In: c, Network: net, Name: "master-port", Ranges: inbound, SourceTags: agents, TargetTags: master, Ports: []string{"8443"}}),
		shared.Named(&network.Firewall{In: c, Network: net, Name: "agents", SourceTags: append(agents, master...), TargetTags: agents}))
	if w.nat {
		out = append(out, shared.Named(&network.Router{In: c, Network: net, MinPorts: w.natPorts, LogErrors: w.natPorts > 0}))
	}
	if w.ssh {
		out = append(out, shared.Named(&network.Firewall{In: c, Network: net, Name: "ssh", Ranges: inbound, TargetTags: append(agents, master...), Ports: []string{"22"}}))
	}
	return out
}

func generateSecret() (secret.Value, error) { return secret.Literal("generated"), nil }

// stage is a project, the record of a cluster in it, and the wanted resources.
type stage struct {
	world *gcptest.World
	store *recordtest.Memory
	id    string
	wish  wish
	dead  func(record.Holder) bool
	// caller is the caller's identity. Empty means the owner.
	caller string
	// keepLogs retains the log after the deletion of the cluster.
	keepLogs bool
	// adopts reports that the cluster was complete once.
	adopts bool
}

func newStage(t *testing.T, o gcptest.Options) *stage {
	t.Helper()
	return &stage{world: gcptest.New(t, o), store: new(recordtest.Memory), id: "lab", wish: modest()}
}

// deployment is a cluster in that project without preflight checks and readiness waits.
type deployment struct {
	infra.Objects
	s *stage
}

func (d deployment) Wanted() ([]resource.Resource, error)    { return blueprint(d.Cluster, d.s.wish), nil }
func (deployment) Checks() []doctor.Check                    { return nil }
func (deployment) Ready(context.Context, func(string)) error { return nil }

func (s *stage) cluster(ctx context.Context, gate *resource.Gate) *mark.Cluster {
	c, err := api.New(ctx, s.world.Client(s.caller), api.Options{Project: gcptest.Project, Region: "us-central1", Gate: gate})
	if err != nil {
		panic(err)
	}
	return &mark.Cluster{ID: s.id, Number: gcptest.Number, Shared: s.wish.onShared, KeepLogs: s.keepLogs, Adopts: s.adopts, Clients: c}
}

// operator returns an installer as in a new process.
func (s *stage) operator(ctx context.Context) *installer.Installer {
	gate := new(resource.Gate)
	return &installer.Installer{
		Cluster: s.id, Platform: "gcp", Deployment: deployment{infra.Objects{Cluster: s.cluster(ctx, gate)}, s}, Store: s.store, Gate: gate,
		Holder: record.Holder{Owner: "ann", Host: "h", Nonce: "ann"}, Dead: s.dead,
		Apply: apply.Config{Settle: 10 * time.Second},
	}
}

func (s *stage) up(ctx context.Context) error {
	in := s.operator(ctx)
	p, err := in.Plan(ctx)
	if err != nil {
		return err
	}
	return in.Up(ctx, p)
}

func (s *stage) down(ctx context.Context) error { return s.remove(ctx, true) }

// remove deletes the cluster with or without its data.
func (s *stage) remove(ctx context.Context, data bool) error {
	in := s.operator(ctx)
	p, err := in.PlanDown(ctx, data)
	if err != nil {
		return err
	}
	_, err = in.Down(ctx, p, data)
	return err
}

// resume lets the next operator continue at once, without waiting for the lease of the killed one.
func (s *stage) resume() {
	s.world.Revive()
	s.dead = func(record.Holder) bool { return true }
}

// plan returns the changes that up would make.
func (s *stage) plan(t *testing.T) []string {
	t.Helper()
	p, err := s.operator(t.Context()).Plan(t.Context())
	must(t, err)
	return hostedtest.ListChanges(p)
}

// live returns the inventory as "kind/name", sorted.
func (s *stage) live(t *testing.T) []string {
	t.Helper()
	fs, err := infra.Objects{Cluster: s.cluster(t.Context(), nil)}.Inventory(t.Context(), s.id)
	must(t, err)
	resource.Sort(fs)
	out := []string{}
	for _, f := range fs {
		name, _, _ := strings.Cut(f.Name, "@")
		name, _, _ = strings.Cut(name, "_")
		out = append(out, f.Kind+"/"+name)
	}
	return out
}

func (s *stage) wantNothingToDo(t *testing.T) {
	t.Helper()
	if got := s.plan(t); len(got) > 0 {
		t.Errorf("got a plan with something to do, want none:\n%s", strings.Join(got, "\n"))
	}
}

// everything returns all objects in the project, of any owner.
func (s *stage) everything(t *testing.T) []string {
	t.Helper()
	c := s.clients(t)
	var out []string
	add := func(names []string, err error) {
		must(t, err)
		out = append(out, names...)
	}
	add(names(api.List(t.Context(), c.Compute.Networks.List(c.Project), func(p *engine.NetworkList) []*engine.Network { return p.Items })))
	add(names(api.List(t.Context(), c.Compute.Subnetworks.List(c.Project, c.Region), func(p *engine.SubnetworkList) []*engine.Subnetwork { return p.Items })))
	add(names(api.List(t.Context(), c.Compute.Firewalls.List(c.Project), func(p *engine.FirewallList) []*engine.Firewall { return p.Items })))
	add(names(api.List(t.Context(), c.Compute.Routers.List(c.Project, c.Region), func(p *engine.RouterList) []*engine.Router { return p.Items })))
	add(names(api.List(t.Context(), c.Compute.Addresses.List(c.Project, c.Region), func(p *engine.AddressList) []*engine.Address { return p.Items })))
	add(names(c.ListDisks(t.Context(), "")))
	add(names(c.ListInstances(t.Context(), "")))
	add(names(api.List(t.Context(), c.Compute.Snapshots.List(c.Project), func(p *engine.SnapshotList) []*engine.Snapshot { return p.Items })))
	add(names(api.List(t.Context(), c.Secrets.Projects.Secrets.List(c.ProjectName()), func(p *secretmanager.ListSecretsResponse) []*secretmanager.Secret { return p.Secrets })))
	add(names(c.ListBuckets(t.Context(), "")))
	add(api.List(t.Context(), c.Logging.Projects.Logs.List(c.ProjectName()), func(p *logging.ListLogsResponse) []string { return p.LogNames }))
	add(names(api.List(t.Context(), c.IAM.Projects.ServiceAccounts.List(c.ProjectName()), func(p *iam.ListServiceAccountsResponse) []*iam.ServiceAccount { return p.Accounts })))
	add(names(api.List(t.Context(), c.IAM.Projects.Roles.List(c.ProjectName()), func(p *iam.ListRolesResponse) []*iam.Role { return p.Roles })))
	policy, err := c.ProjectPolicy(t.Context())
	must(t, err)
	for _, b := range policy.Bindings {
		out = append(out, b.Role+" "+strings.Join(b.Members, " "))
	}
	return out
}

func names[T any](all []*T, err error) ([]string, error) {
	var out []string
	for _, v := range all {
		out = append(out, nameOf(v))
	}
	return out, err
}

// settleDown waits until lists are up to date.
func (*stage) settleDown() {
	time.Sleep(10 * time.Second) //nolint:forbidigo // synctest's clock
}

// bubble runs a test with a fake clock.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
