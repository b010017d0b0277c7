package gcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/templates"
)

// addMachine adds the master's machine with its disk, address, secrets and program.
func (b *blueprint) addMachine() error {
	settings, _ := b.Remember() // they were read from JSON or are written as JSON
	address := newMasterAddress(b.cluster)
	c, err := b.Configure(hosted.Drawn{Settings: settings, Address: address, Needs: b.mentionedIDs(), Live: b.liveIDs, Planned: b.live})
	if err != nil {
		return err
	}
	b.addResources(c.With(address)...)
	b.addSecretRoles(c.MasterSecrets)

	m := b.Spec.Master
	arch, err := b.Known.Types.Architecture(m.MachineType)
	if err != nil {
		return err
	}
	host := &compute.Master{
		In: b.cluster, Zone: b.Known.Master.Zone, Type: m.MachineType, MinCPU: minCPU(m.MachineType),
		Image: b.MasterImage(), ReplaceImage: m.Image != "" && !strings.Contains(m.Image, "/family/") || m.Image == "" && b.RefreshImages, Architecture: spelled(arch),
		Subnetwork: b.subnetwork, Tags: b.masterTags(), Account: b.master, Scopes: []string{cloudPlatform},
		Data: b.addDisk(), Address: address, RootGB: int64(m.BootDisk), After: c.ProgramIDs(),
		Startup: func(ctx context.Context) (string, error) { return b.startupScript(ctx, c) },
	}
	b.addResources(infra.Named(host))
	return nil
}

// minCPU returns the oldest CPU platform that Determined supports, for machine types where Google
// may choose an older one.
func minCPU(machineType string) string {
	if (machinetype.Type{MachineType: machineType}).TakesGPUs() {
		return "Intel Broadwell"
	}
	return ""
}

// spelled converts a GOARCH to Google's name of the architecture.
func spelled(arch string) string {
	if arch == "arm64" {
		return "ARM64"
	}
	return "X86_64"
}

// mentionedIDs returns the resource IDs that master.yaml refers to.
func (b *blueprint) mentionedIDs() []string { return infra.NeedsOf(b.subnetwork, b.agent) }

// addDisk adds the data disk or refers to an existing one.
func (b *blueprint) addDisk() infra.Ref {
	d := b.Spec.Master.Disk
	if d.Name != "" {
		return infra.Existing(b.dataDisk())
	}
	own := &storage.Disk{
		In: b.cluster, Zone: b.Known.Master.Zone, SizeGB: int64(d.Size), Type: d.Type, Snapshot: d.Snapshot,
		Elsewhere: func(zone string) string { return "--zone " + zone },
	}
	b.addResources(infra.Named(own))
	return own
}

// dataDisk returns the zone and name of the data disk.
func (t *Target) dataDisk() string {
	if name := t.Spec.Master.Disk.Name; name != "" {
		return t.Known.DiskZone + "/" + name
	}
	return t.cluster.Zonal(t.Known.Master.Zone, mark.DataDisk)
}

// startupScript returns the script that the master's machine runs at each boot.
func (b *blueprint) startupScript(ctx context.Context, c hosted.Configuration) (string, error) {
	sums, err := b.ProgramSums(ctx, c)
	if err != nil {
		return "", err
	}
	script, err := templates.GoogleMasterBoot{
		Cluster: b.Spec.Cluster, Bucket: b.store.Name, SHA256: sums, Disk: compute.DataDevice, Proxy: b.Spec.Proxy.Environment(),
	}.Render()
	if err != nil {
		return "", fmt.Errorf("write the master's startup script: %w", err)
	}
	return string(script), nil
}
