package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/network"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/templates"
)

// masterAddress is the public address, which stays when the master's machine is replaced.
type masterAddress struct {
	*infra.NoncedObject[types.Address]

	address *network.Address
}

var _ hosted.Address = masterAddress{}

func newMasterAddress(c *mark.Cluster) masterAddress {
	a := &network.Address{In: c, Name: "master"}
	return masterAddress{infra.Nonced(a), a}
}

// PublicIP implements hosted.Address.
func (a masterAddress) PublicIP() string { return a.address.PublicIP() }

// addMachine adds the master's machine with its disk, address, secrets and program.
func (b *blueprint) addMachine() error {
	settings, _ := b.Remember() // they were read from JSON or are written as JSON
	address := newMasterAddress(b.cluster)
	c, err := b.Configure(hosted.Drawn{Settings: settings, Address: address, Needs: b.mentionedIDs(), Live: b.liveIDs, Planned: b.placeholderLive})
	if err != nil {
		return err
	}
	b.addResources(c.With(address)...)

	volume := b.addVolume()
	m := b.Spec.Master
	arch, err := b.Known.Types.Architecture(m.InstanceType)
	if err != nil {
		return err
	}
	host := &compute.Master{
		In: b.cluster, Name: "master", Image: b.MasterImage(), RootDevice: b.Known.MasterRoot, Type: m.InstanceType,
		ReplaceImage: m.Image != "" || b.RefreshImages, Architecture: facts.Spelled(arch),
		Subnet: b.masterPlace(), Groups: []infra.Ref{b.master}, Profile: b.profile, KeyPair: b.Spec.KeyPair,
		PublicIP: true, RootGiB: int32(m.RootVolume), //nolint:gosec // a disk's size
		After: c.ProgramIDs(),
		// The user data names the data volume, so it is known only once the volume exists.
		UserData: func(ctx context.Context) ([]byte, error) { return b.bootData(ctx, volume, c) },
	}
	// A public address needs a gateway first. A new gateway does not replace the machine, because
	// it only changes with the network.
	for _, id := range []string{volume.ID(), b.gateway} {
		if id != "" {
			host.After = append(host.After, id)
		}
	}
	b.addResources(
		infra.Nonced(host),
		&compute.Attachment{In: b.cluster, Name: "data", Volume: volume, Instance: host},
		&network.Association{In: b.cluster, Name: "master", Address: address, Instance: host},
	)
	return nil
}

// mentionedIDs returns the resource IDs that master.yaml refers to.
func (b *blueprint) mentionedIDs() []string {
	var ids []string
	for _, ref := range append(slices.Collect(maps.Values(b.subnets)), b.agents, b.agent) {
		if ref.ID() != "" {
			ids = append(ids, ref.ID())
		}
	}
	return ids
}

// addVolume adds the data volume or refers to an existing one.
func (b *blueprint) addVolume() infra.Ref {
	v := b.Spec.Master.Volume
	if v.ID != "" {
		return infra.Existing(v.ID)
	}
	own := &storage.Volume{
		In: b.cluster, Name: "data", Zone: b.Known.Master.Zone, Snapshot: v.Snapshot, Elsewhere: b.MoveMaster,
		SizeGiB: int32(v.Size), //nolint:gosec // a disk's size
	}
	b.addResources(infra.Nonced(own))
	return own
}

// masterPlace returns the subnet of the master's machine.
func (b *blueprint) masterPlace() infra.Ref {
	if b.Spec.Network.Own() {
		return b.subnets[b.Known.Master.Zone]
	}
	return b.subnets[b.MasterSubnet()]
}

// bootData returns the user data of the master's machine.
func (b *blueprint) bootData(ctx context.Context, volume infra.Ref, c hosted.Configuration) ([]byte, error) {
	sums, err := b.ProgramSums(ctx, c)
	if err != nil {
		return nil, err
	}
	data, err := templates.MasterBoot{
		Cluster: b.Spec.Cluster, Region: b.Spec.Region, Bucket: b.store.Name, SHA256: sums,
		Endpoint: b.S3Endpoint, Volume: volume.Identity(), Device: compute.DataDevice, Proxy: b.Spec.Proxy.Environment(),
	}.Render()
	if err != nil {
		return nil, fmt.Errorf("write the master's user data: %w", err)
	}
	return data, nil
}
