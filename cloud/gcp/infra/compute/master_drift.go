package compute

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// The paths of drift that is corrected in place.
const (
	typePath       = "type"
	accountPath    = "account"
	statePath      = "state"
	tagsPath       = "network-tags"
	protectionPath = "deletion-protection"
	rootPath       = "root-size"
	dataPath       = "data-disk"
	metadataPath   = "metadata."
)

func (m *Master) compareLive(ctx context.Context, live *compute.Instance) ([]resource.Drift, error) {
	disk, err := m.diskDrift(ctx, live)
	return slices.Concat(m.fixedDrift(live), m.stoppedDrift(live), m.runningDrift(live), disk), err
}

// fixedDrift compares the attributes that require a replacement, as far as they are configured.
func (m *Master) fixedDrift(live *compute.Instance) []resource.Drift {
	out := []resource.Drift{
		infra.Fixed("zone", path.Base(live.Zone), m.Zone),
		infra.Fixed("shielded-vm", shieldText(live.ShieldedInstanceConfig), shieldText(shielded())),
	}
	for _, nic := range live.NetworkInterfaces {
		out = append(out, infra.Fixed("subnetwork", path.Base(nic.Subnetwork), path.Base(infra.NameOf(m.Subnetwork))))
		if want := m.privateIP(); want != "" {
			out = append(out, infra.Fixed("private-ip", nic.NetworkIP, want))
		}
		if m.Address == nil || m.Address.PublicIP() != "" {
			out = append(out, infra.Fixed("public-ip", natIPOf(nic), m.publicIP()))
		}
	}
	return infra.Differences(out...)
}

func shieldText(c *compute.ShieldedInstanceConfig) string {
	if c == nil {
		return "none"
	}
	var parts []string
	for _, part := range []struct {
		on   bool
		name string
	}{{c.EnableSecureBoot, "secure boot"}, {c.EnableVtpm, "vTPM"}, {c.EnableIntegrityMonitoring, "integrity monitoring"}} {
		if part.on {
			parts = append(parts, part.name)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func (m *Master) publicIP() string {
	if m.Address == nil {
		return ""
	}
	return m.Address.PublicIP()
}

func natIPOf(nic *compute.NetworkInterface) string {
	for _, a := range nic.AccessConfigs {
		return a.NatIP
	}
	return ""
}

// stoppedDrift compares the attributes that can only be changed while the instance is stopped, and
// whether it is running.
func (m *Master) stoppedDrift(live *compute.Instance) []resource.Drift {
	out := infra.Differences(infra.Changeable(accountPath, accountText(accountOf(live)), accountText(m.accountEmail(), m.Scopes)))
	if have := path.Base(live.MachineType); have != m.Type {
		out = append(out, infra.Changeable(typePath, have, m.Type+" (stops the master for a few minutes)"))
	}
	switch live.Status {
	case "STOPPING", "STOPPED", "TERMINATED", "SUSPENDING", "SUSPENDED":
		out = append(out, infra.Changeable(statePath, live.Status, "RUNNING"))
	}
	return out
}

func accountOf(live *compute.Instance) (email string, scopes []string) {
	for _, a := range live.ServiceAccounts {
		return a.Email, a.Scopes
	}
	return "", nil
}

func accountText(email string, scopes []string) string {
	if email == "" {
		return "none"
	}
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = path.Base(s)
	}
	slices.Sort(names)
	return email + " with " + strings.Join(names, ", ")
}

// runningDrift compares the attributes that can be changed while the instance is running.
func (m *Master) runningDrift(live *compute.Instance) []resource.Drift {
	var tags []string
	if live.Tags != nil {
		tags = live.Tags.Items
	}
	protected := map[bool]string{true: "on", false: "off"}
	out := []resource.Drift{
		infra.Changeable(tagsPath, sortedText(tags), sortedText(m.Tags)),
		infra.Changeable(protectionPath, protected[live.DeletionProtection], protected[true]),
	}
	have := metadataOf(live.Metadata)
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		out = append(out, infra.Changeable(metadataPath+key, have[key], m.Metadata[key]))
	}
	return infra.Differences(out...)
}

func metadataOf(md *compute.Metadata) map[string]string {
	out := make(map[string]string)
	if md == nil {
		return out
	}
	for _, item := range md.Items {
		if item.Value != nil {
			out[item.Key] = *item.Value
		}
	}
	return out
}

func sortedText(list []string) string {
	return strings.Join(slices.Sorted(slices.Values(list)), ", ")
}

// diskDrift compares the disks: the boot disk, which can only grow, and the data disk.
func (m *Master) diskDrift(ctx context.Context, live *compute.Instance) ([]resource.Drift, error) {
	out := m.dataDrift(live)
	boot := bootDisk(live)
	if boot == "" {
		return out, nil
	}
	zone, name := api.SplitZone(boot)
	disk, err := api.Do(ctx, m.In.Clients.Compute.Disks.Get(m.In.Clients.Project, zone, name))
	if err != nil {
		return out, infra.IgnoreMissing(err)
	}
	if disk.SizeGb < m.RootGB {
		out = append(out, infra.Changeable(rootPath, sizeText(disk.SizeGb), sizeText(m.RootGB)))
	}
	if have := projectPath(disk.SourceImage); m.ReplaceImage && have != projectPath(m.Image) {
		out = append(out, infra.Fixed("image", have, projectPath(m.Image)))
	}
	if m.Architecture != "" && disk.Architecture != "" {
		out = append(out, infra.Differences(infra.Fixed("architecture", disk.Architecture, m.Architecture))...)
	}
	return out, nil
}

// dataDrift compares the data disk. A missing attachment is added; a different disk with its device
// name is never detached.
func (m *Master) dataDrift(live *compute.Instance) []resource.Drift {
	if m.Data == nil {
		return nil
	}
	for _, d := range live.Disks {
		if d.DeviceName == DataDevice {
			return infra.Differences(infra.Fixed(dataPath, diskOf(d), infra.NameOf(m.Data)))
		}
	}
	return []resource.Drift{infra.Changeable(dataPath, "none", infra.NameOf(m.Data))}
}

// diskOf returns the identity of an attached disk: its zone and name.
func diskOf(d *compute.AttachedDisk) string {
	parts := strings.Split(d.Source, "/")
	if len(parts) < 3 {
		return ""
	}
	return parts[len(parts)-3] + "/" + parts[len(parts)-1]
}

func bootDisk(live *compute.Instance) string {
	for _, d := range live.Disks {
		if d.Boot {
			return diskOf(d)
		}
	}
	return ""
}

// projectPath returns a resource URL without the host: "projects/p/global/images/x".
func projectPath(link string) string {
	if i := strings.Index(link, "projects/"); i >= 0 {
		return link[i:]
	}
	return link
}
