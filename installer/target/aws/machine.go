package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/templates"
)

// bootMachine is the master's machine. What it is told at its first boot names the
// data volume, and so is known only when that is there.
type bootMachine struct {
	*infra.Master

	boot func(ctx context.Context) ([]byte, error)
}

var (
	_ resource.Updater = (*bootMachine)(nil)
	_ resource.Nonced  = (*bootMachine)(nil)
)

// CreateOnce starts it.
func (m *bootMachine) CreateOnce(ctx context.Context, nonce string) error {
	data, err := m.boot(ctx)
	if err != nil {
		return err
	}
	m.UserData = data
	return m.Master.CreateOnce(ctx, nonce)
}

// machine is the master's, with its disk, its address, its secrets and what it
// runs.
func (b *blueprint) machine() error {
	lore := &lore{t: b.Target}
	programs, err := b.programs(lore)
	if err != nil {
		return err
	}
	address := &infra.Address{In: b.cluster, Name: "master"}
	b.add(address)
	b.configure(address, programs, lore)

	volume := b.volume()
	m := b.Spec.Master
	arch, err := b.Known.architecture(m.InstanceType)
	if err != nil {
		return err
	}
	host := &bootMachine{Master: &infra.Master{
		In: b.cluster, Name: "master", Image: b.masterImage(), Type: m.InstanceType,
		ReplaceImage: m.Image != "", Architecture: facts.Spelled(arch),
		Subnet: b.masterPlace(), Groups: []infra.Ref{b.master}, Profile: b.profile, KeyPair: b.Spec.KeyPair,
		PublicIP: true, RootGiB: int32(m.RootVolume), //nolint:gosec // a disk's size
		After: programs,
	}}
	// An address leads nowhere before there is a gateway; it replaces no machine,
	// for it goes only with its network.
	for _, id := range []string{volume.ID(), b.gateway} {
		if id != "" {
			host.After = append(host.After, id)
		}
	}
	host.boot = func(ctx context.Context) ([]byte, error) { return b.boot(ctx, volume, lore) }
	b.add(
		host,
		&infra.Attachment{In: b.cluster, Name: "data", Volume: volume, Instance: host},
		&infra.Association{In: b.cluster, Name: "master", Address: address, Instance: host},
	)
	return nil
}

// programs is det-deploy for every architecture of the cluster's machines. It
// returns their IDs.
func (b *blueprint) programs(lore *lore) ([]string, error) {
	archs, err := b.architectures()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, arch := range archs {
		p := &program{t: b.Target, arch: arch, lore: lore}
		ids = append(ids, p.ID())
		b.add(p)
	}
	return ids, nil
}

// configure is what the master runs with: secrets, certificates and the manifest.
func (b *blueprint) configure(address *infra.Address, programs []string, lore *lore) {
	c := &configuration{t: b.Target, lore: lore, needs: slices.Clone(programs)}
	c.settings, _ = b.Remember() // it was read from JSON, or is written as such
	for _, s := range b.ownSecrets() {
		c.secrets = append(c.secrets, s)
		b.add(s)
	}
	if !b.Spec.TLS.Own() {
		ca := b.authoritySecret()
		kept := &watched{Secret: &infra.Secret{In: b.cluster, Name: tlsSecret, Generate: errNoLeaf}}
		c.leaf = &leaf{watched: kept, t: b.Target, ca: ca, address: address}
		c.secrets = append(c.secrets, kept)
		b.add(ca, c.leaf)
		c.needs = append(c.needs, c.leaf.ID(), ca.ID())
	}
	for _, s := range c.secrets {
		c.needs = append(c.needs, s.ID())
	}
	for _, ref := range append(slices.Collect(maps.Values(b.subnets)), b.agents, b.agent) {
		if ref.ID() != "" {
			c.needs = append(c.needs, ref.ID())
		}
	}
	slices.Sort(c.needs)
	c.needs = slices.Compact(c.needs)
	c.live = b.live
	b.add(c)
}

// live is what Amazon calls the things that master.yaml mentions.
func (b *blueprint) live() (live, bool) {
	l := live{
		Subnets: make(map[string]string), AgentGroup: b.agents.Identity(), Profile: b.agent.ARN(), Bucket: b.dataBucket(),
	}
	complete := l.AgentGroup != "" && l.Profile != ""
	for name, ref := range b.subnets {
		l.Subnets[name] = ref.Identity()
		complete = complete && ref.Identity() != ""
	}
	return l, complete
}

// volume is the data volume: an existing one, or one of the cluster's own.
func (b *blueprint) volume() infra.Ref {
	v := b.Spec.Master.Volume
	if v.ID != "" {
		return infra.Existing(v.ID)
	}
	own := &infra.Volume{
		In: b.cluster, Name: "data", Zone: b.Known.Master.Zone, Snapshot: v.Snapshot, Elsewhere: b.moveMaster,
		SizeGiB: int32(v.Size), //nolint:gosec // a disk's size
	}
	b.add(own)
	return own
}

// masterPlace is the subnet of the master's machine.
func (b *blueprint) masterPlace() infra.Ref {
	if b.Spec.Network.Own() {
		return b.subnets[b.Known.Master.Zone]
	}
	return b.subnets[b.masterSubnet()]
}

// boot is the user data of the master's machine.
func (b *blueprint) boot(ctx context.Context, volume infra.Ref, lore *lore) ([]byte, error) {
	sums := map[string]string{}
	archs, err := b.architectures()
	if err != nil {
		return nil, err
	}
	for _, arch := range archs {
		if sums[arch], err = (&program{t: b.Target, arch: arch, lore: lore}).sum(ctx); err != nil {
			return nil, err
		}
	}
	data, err := templates.MasterBoot{
		Cluster: b.Spec.Cluster, Region: b.Spec.Region, Bucket: b.store.Name, SHA256: sums,
		Endpoint: b.S3Endpoint, Volume: volume.Identity(), Device: infra.DataDevice,
	}.Render()
	if err != nil {
		return nil, fmt.Errorf("write the master's user data: %w", err)
	}
	return data, nil
}
