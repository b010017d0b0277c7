package gcp

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/network"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// blueprint collects the resources of a cluster.
type blueprint struct {
	*Target

	all []resource.Resource

	network, subnetwork infra.Ref
	// bucket is the cluster's bucket for checkpoints, or nil if the user provides one.
	bucket *storage.Bucket
	// master and agent are the service accounts of the machines; agent is nil for none.
	master, agent identity.Holder
}

// Wanted returns all resources of the cluster, newly made. It returns none without a spec, as when
// `down` knows only the cluster ID.
func (t *Target) Wanted() ([]resource.Resource, error) {
	if len(t.Known.Types) == 0 {
		return nil, nil
	}
	b := &blueprint{Target: t}
	if err := b.addNetwork(); err != nil {
		return nil, err
	}
	b.addFirewall()
	b.addBucket()
	b.addAccounts()
	return b.all, b.addMachine()
}

func (b *blueprint) addResources(rs ...resource.Resource) { b.all = append(b.all, rs...) }

// addNetwork adds a network with a subnetwork and internet access, or refers to the user's.
func (b *blueprint) addNetwork() error {
	n := b.Spec.Network
	if !n.Own() {
		b.network, b.subnetwork = existingIn(n.HostProject, n.Network), existingIn(n.HostProject, n.Subnetwork)
		return nil
	}
	cidr, err := netip.ParsePrefix(n.CIDR)
	if err != nil {
		return fmt.Errorf("read network.cidr: %w", err)
	}
	own := &network.Network{In: b.cluster}
	subnetwork := &network.Subnetwork{In: b.cluster, Network: own, CIDR: cidr}
	b.network, b.subnetwork = own, subnetwork
	b.addResources(infra.Named(own), infra.Named(subnetwork))
	if n.NAT {
		b.addResources(infra.Named(&network.Router{In: b.cluster, Network: own}))
	}
	return nil
}

// existingIn returns an existing resource of the given project, or of the cluster's if project is
// empty.
func existingIn(project, name string) infra.Existing {
	if project == "" {
		return infra.Existing(name)
	}
	return infra.Existing(project + "/" + name)
}

// masterTags and agentTags are the network tags that firewall rules match.
func (t *Target) masterTags() []string { return t.tags("master") }
func (t *Target) agentTags() []string  { return t.tags("agent") }

func (t *Target) tags(role string) []string {
	return slices.Concat([]string{t.cluster.FullName(role)}, t.Spec.Network.Tags)
}

// addFirewall adds rules that open the ports that Determined needs, unless the user provides them;
// then the checks verify those.
func (b *blueprint) addFirewall() {
	n := b.Spec.Network
	if n.Firewall == spec.ExistingFirewall {
		return
	}
	master, agents := []string{b.cluster.FullName("master")}, []string{b.cluster.FullName("agent")}
	inbound := n.InboundRanges()
	rules := []*network.Firewall{
		{Name: "master-port", Ranges: inbound, SourceTags: agents, TargetTags: master, Ports: []string{fmt.Sprint(hosted.MasterPort)}},
		{Name: "agents", SourceTags: slices.Concat(agents, master), TargetTags: agents},
	}
	if n.SSH {
		rules = append(rules, &network.Firewall{Name: "ssh", Ranges: inbound, TargetTags: slices.Concat(agents, master), Ports: []string{"22"}})
	}
	for _, r := range rules {
		r.In, r.Network = b.cluster, b.network
		b.addResources(infra.Named(r))
	}
}

// addBucket adds the data bucket, unless the user provides one.
func (b *blueprint) addBucket() {
	if b.Spec.Storage.Bucket == "" {
		b.bucket = &storage.Bucket{In: b.cluster}
		b.addResources(infra.Named(b.bucket))
	}
}

// dataBucket returns the bucket for checkpoints.
func (t *Target) dataBucket() string {
	if given := t.Spec.Storage.Bucket; given != "" {
		return given
	}
	return storage.DataBucket(t.Spec.Cluster, t.Caller.Number)
}
