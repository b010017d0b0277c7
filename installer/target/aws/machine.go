package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/hosted"
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
	settings, _ := b.Remember() // it was read from JSON, or is written as such
	address := &infra.Address{In: b.cluster, Name: "master"}
	c, err := b.Configure(hosted.Drawn{Settings: settings, Address: address, Needs: b.mentioned(), Live: b.live})
	if err != nil {
		return err
	}
	b.add(c.Programs...)
	b.add(address)
	b.add(c.Rest...)

	volume := b.volume()
	m := b.Spec.Master
	arch, err := b.Known.Types.Architecture(m.InstanceType)
	if err != nil {
		return err
	}
	host := &bootMachine{Master: &infra.Master{
		In: b.cluster, Name: "master", Image: b.masterImage(), Type: m.InstanceType,
		ReplaceImage: m.Image != "", Architecture: facts.Spelled(arch),
		Subnet: b.masterPlace(), Groups: []infra.Ref{b.master}, Profile: b.profile, KeyPair: b.Spec.KeyPair,
		PublicIP: true, RootGiB: int32(m.RootVolume), //nolint:gosec // a disk's size
		After: c.ProgramIDs(),
	}}
	// An address leads nowhere before there is a gateway; it replaces no machine,
	// for it goes only with its network.
	for _, id := range []string{volume.ID(), b.gateway} {
		if id != "" {
			host.After = append(host.After, id)
		}
	}
	host.boot = func(ctx context.Context) ([]byte, error) { return b.boot(ctx, volume, c) }
	b.add(
		host,
		&infra.Attachment{In: b.cluster, Name: "data", Volume: volume, Instance: host},
		&infra.Association{In: b.cluster, Name: "master", Address: address, Instance: host},
	)
	return nil
}

// mentioned is the IDs of what master.yaml mentions.
func (b *blueprint) mentioned() []string {
	var ids []string
	for _, ref := range append(slices.Collect(maps.Values(b.subnets)), b.agents, b.agent) {
		if ref.ID() != "" {
			ids = append(ids, ref.ID())
		}
	}
	return ids
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
func (b *blueprint) boot(ctx context.Context, volume infra.Ref, c hosted.Configuration) ([]byte, error) {
	sums, err := b.ProgramSums(ctx, c)
	if err != nil {
		return nil, err
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
