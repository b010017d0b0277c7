package aws

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/network"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
)

// blueprint collects the resources of a cluster.
type blueprint struct {
	*Target

	all []resource.Resource

	vpc infra.Ref
	// gateway is empty in an existing network.
	gateway string
	subnets map[string]infra.Ref
	agents  infra.Ref
	master  infra.Ref
	agent   profile
	profile profile
}

// profile refers to an instance profile by name.
type profile interface {
	infra.Ref
	ARN() string
}

var _ profile = (*identity.Profile)(nil)

// existingProfile is an instance profile of the user.
type existingProfile struct {
	infra.Ref
	arn string
}

// ARN implements profile.
func (p existingProfile) ARN() string { return p.arn }

// Wanted returns all resources of the cluster, newly made. It returns none without a spec, as when
// `down` knows only the cluster ID.
func (t *Target) Wanted() ([]resource.Resource, error) {
	if len(t.Known.Types) == 0 {
		return nil, nil
	}
	b := &blueprint{Target: t, subnets: make(map[string]infra.Ref)}
	if err := b.addNetwork(); err != nil {
		return nil, err
	}
	b.addSecurityGroups()
	b.addRoles()
	b.addDataStores()
	return b.all, b.addMachine()
}

func (b *blueprint) addResources(rs ...resource.Resource) { b.all = append(b.all, rs...) }

// addNetwork adds a VPC with a subnet per zone, or refers to the existing one.
func (b *blueprint) addNetwork() error {
	n := b.Spec.Network
	if !n.Own() {
		b.vpc = infra.Existing(n.VPC)
		for _, s := range b.ExistingSubnets() {
			b.subnets[s] = infra.Existing(s)
		}
		return nil
	}
	cidr, err := netip.ParsePrefix(n.CIDR)
	if err != nil {
		return fmt.Errorf("read network.cidr: %w", err)
	}
	vpc := &network.VPC{In: b.cluster, Name: "main", CIDR: cidr}
	gateway := &network.Gateway{In: b.cluster, Name: "main", VPC: vpc}
	b.vpc, b.gateway = vpc, gateway.ID()
	b.addResources(infra.Nonced(vpc), infra.Nonced(gateway))
	routes := &network.Routes{In: b.cluster, Name: "main", VPC: vpc, Gateway: gateway}
	used := b.Known.Used()
	for i, zone := range b.Known.Zones {
		if !slices.Contains(used, zone) {
			continue
		}
		s := &network.Subnet{In: b.cluster, Name: zone, VPC: vpc, Zone: zone, CIDR: layout.PartOf(cidr, i)}
		b.subnets[zone] = s
		routes.Subnets = append(routes.Subnets, s)
		b.addResources(infra.Nonced(s))
	}
	b.addResources(infra.Nonced(routes), infra.Nonced(&network.Endpoint{In: b.cluster, Name: "s3", VPC: vpc, Routes: routes}))
	return nil
}

// addSecurityGroups adds security groups with the ports that Determined needs, or refers to
// existing groups, whose ports the checks verify.
func (b *blueprint) addSecurityGroups() {
	n := b.Spec.Network
	b.master, b.agents = infra.Existing(n.MasterSecurityGroup), infra.Existing(n.AgentSecurityGroup)
	var master, agents *network.Group
	if n.MasterSecurityGroup == "" {
		master = &network.Group{In: b.cluster, Name: "master", VPC: b.vpc}
		b.master = master
		b.addResources(infra.Nonced(master))
	}
	if n.AgentSecurityGroup == "" {
		agents = &network.Group{In: b.cluster, Name: "agents", VPC: b.vpc}
		b.agents = agents
		b.addResources(infra.Nonced(agents))
	}
	if master != nil {
		b.addResources(&network.Rules{In: b.cluster, Name: "master", Group: master, Ingress: network.MasterRules(hosted.MasterPort, b.Spec.Network.InboundRanges(), b.agents, n.SSH)})
	}
	if agents != nil {
		rules := network.AgentRules(b.master, b.agents)
		if n.SSH {
			for _, from := range b.Spec.Network.InboundRanges() {
				rules = append(rules, network.Rule{Port: 22, From: from, Why: "administrators to agents"})
			}
		}
		b.addResources(&network.Rules{In: b.cluster, Name: "agents", Group: agents, Ingress: rules})
	}
}

// addRoles adds the roles of the machines.
func (b *blueprint) addRoles() {
	add := func(name, existing string, document policy.Document) profile {
		p := &identity.Profile{In: b.cluster, Name: name, Role: infra.Existing(spec.RoleName(existing))}
		if existing == "" {
			r := &identity.Role{In: b.cluster, Name: name, Policies: map[string]string{"det-deploy": document.Compact()}, Profile: p}
			p.Role = r
			b.addResources(r)
		}
		b.addResources(p)
		return p
	}
	use := func(name string) profile {
		arn := b.Known.Profiles[name].ARN
		return existingProfile{infra.Existing(path.Base(arn)), arn}
	}
	if b.UsesSpot() {
		b.addResources(&identity.SpotRole{In: b.cluster})
	}
	if name := b.Spec.Roles.MasterProfile; name != "" {
		b.profile = use(name)
	} else {
		b.profile = add("master", b.Spec.Roles.Master, policy.Master(b.Scope()))
	}
	if name := b.Spec.Roles.AgentProfile; name != "" {
		b.agent = use(name)
	} else {
		b.agent = add("agent", b.Spec.Roles.Agent, policy.Agent(b.Scope()))
	}
}

// addDataStores adds the buckets and the log group.
func (b *blueprint) addDataStores() {
	b.addResources(b.policy)
	if b.Spec.Storage.Bucket == "" {
		b.addResources(&storage.Bucket{In: b.cluster})
	}
	if b.Spec.Logs.Group == "" {
		b.addResources(&storage.LogGroup{In: b.cluster, Days: int32(b.Spec.Logs.RetentionDays), Retain: b.Spec.Logs.KeepOnDown}) //nolint:gosec // one of CloudWatch's numbers
	}
}

// dataBucket returns the bucket for checkpoints.
func (t *Target) dataBucket() string {
	return cmp.Or(t.Spec.Storage.Bucket, storage.DataBucket(t.Spec.Cluster, t.Caller.Account))
}

// logGroup returns the log group of the machines.
func (t *Target) logGroup() string {
	return cmp.Or(t.Spec.Logs.Group, storage.LogGroupName(t.Spec.Cluster))
}

// Scope returns the resources to which the cluster's policies are limited.
func (t *Target) Scope() policy.Scope {
	s := t.Spec
	return policy.Scope{
		Partition: t.Caller.Partition, Account: t.Caller.Account, Region: s.Region, Cluster: s.Cluster,
		DataBucket: s.Storage.Bucket, LogGroup: s.Logs.Group,
		MasterRole: t.MasterRole(), AgentRole: t.AgentRole(),
		NoSessions: !s.Roles.SessionManager, Volume: s.Master.Volume.ID, Secrets: t.ForeignSecrets(), Keys: t.Known.DiskKeys(),
	}
}
