package compute

import (
	"context"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// DataDevice is the device name of the data disk. On the instance it is
// /dev/disk/by-id/google-det-data, for any disk interface.
const DataDevice = "det-data"

// DefaultAccount is the project's Compute Engine default service account.
const DefaultAccount = infra.Existing("default")

// Address is a static external address.
type Address interface {
	infra.Ref
	// PublicIP returns "" until the address was found or reserved.
	PublicIP() string
}

// Master is the instance of the master. The master's data is on a separate disk, so that the
// instance can be replaced.
type Master struct {
	In *mark.Cluster
	// Zone is its zone: "us-central1-a".
	Zone string
	// Type is a machine type: "n2-standard-2". MinCPU is the minimum CPU platform, "Intel
	// Broadwell", or empty for any.
	Type, MinCPU string
	// Image is the path of the boot image: "projects/debian-cloud/global/images/x". A new image is
	// used for an existing instance only if ReplaceImage is set.
	Image        string
	ReplaceImage bool
	// Architecture is Google's architecture of Type: "X86_64", "ARM64". An instance of another
	// architecture is replaced, because its disk does not boot there. Empty matches any.
	Architecture string
	// Subnetwork is its subnetwork. Tags are network tags, to which firewall rules apply.
	Subnetwork infra.Ref
	Tags       []string
	// Account is its service account, whose identity is the email, with the access scopes. Nil
	// means none.
	Account infra.Ref
	Scopes  []string
	// Data is the data disk.
	Data infra.Ref
	// Address is its external address, or nil for none.
	Address Address
	// PrivateIP is the address within Subnetwork. If it is zero, Google chooses it.
	PrivateIP netip.Addr
	// RootGB is the size of the boot disk in Google's gigabytes, of 2^30 bytes.
	RootGB int64
	// Metadata is its metadata besides the startup script.
	Metadata map[string]string
	// Startup returns the startup script, which runs at each boot. It is called once all
	// dependencies exist. Later changes have no effect on an instance that has booted.
	Startup func(context.Context) (string, error)
	// After lists additional resources that must exist before it boots.
	After []string

	infra.Learned
}

// ID returns the resource ID "gcp/instance/master".
func (*Master) ID() string { return mark.ResourceID(mark.KindInstance, masterName) }

// Define implements infra.Defined.
func (m *Master) Define() infra.Definition[*compute.Instance] {
	d := mark.DefineZonal(m.In, Masters(m.In), mark.Zoned{Zone: m.Zone, Name: masterName}, &m.Learned)
	d.Needs, d.Tags = m.listNeeds(), m.In.Labels
	d.Create, d.Retag, d.Compare, d.Change = m.createMaster, m.relabel, m.compareLive, m.fixDrift
	d.Describe = func() []string {
		return []string{m.Type + " in " + m.Zone + ", " + path.Base(m.Image) + ", boot disk of " + sizeText(m.RootGB)}
	}
	return d
}

func (m *Master) listNeeds() []string {
	refs := []infra.Ref{m.Subnetwork, m.Account, m.Data}
	if m.Address != nil {
		refs = append(refs, m.Address)
	}
	out := append(infra.NeedsOf(refs...), m.After...)
	slices.Sort(out)
	return slices.Compact(out)
}

func (m *Master) createMaster(ctx context.Context, _ string) error {
	in := m.launchRequest()
	if m.Startup != nil {
		script, err := m.Startup(ctx)
		if err != nil {
			return err
		}
		in.Metadata.Items = append(in.Metadata.Items, itemOf("startup-script", script))
	}
	return mark.Insert(ctx, m.In, m.Define(), m.In.Zonal(m.Zone, masterName), func() error {
		return api.Run(ctx, m.In.Clients, m.In.Clients.Compute.Instances.Insert(m.In.Clients.Project, m.Zone, in))
	})
}

func (m *Master) launchRequest() *compute.Instance {
	in := &compute.Instance{
		Name: m.In.FullName(masterName), Description: "det-deploy master of cluster " + m.In.ID,
		MachineType: m.typePath(), MinCpuPlatform: m.MinCPU, Labels: m.In.AllLabels(),
		Tags: &compute.Tags{Items: m.Tags}, Metadata: &compute.Metadata{Items: metadataItems(m.Metadata)},
		DeletionProtection: true, ShieldedInstanceConfig: shielded(),
		Disks: []*compute.AttachedDisk{{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{
			SourceImage: m.Image, DiskSizeGb: m.RootGB, DiskType: m.zonePath() + "/diskTypes/pd-balanced", Labels: m.In.AllLabels(),
		}}},
		NetworkInterfaces: []*compute.NetworkInterface{{Subnetwork: m.In.SubnetworkLink(m.Subnetwork), NetworkIP: m.privateIP()}},
	}
	if m.Data != nil {
		in.Disks = append(in.Disks, m.dataDisk())
	}
	if m.Address != nil {
		in.NetworkInterfaces[0].AccessConfigs = []*compute.AccessConfig{{Type: "ONE_TO_ONE_NAT", Name: "external-nat", NatIP: m.Address.PublicIP()}}
	}
	if email := m.accountEmail(); email != "" {
		in.ServiceAccounts = []*compute.ServiceAccount{{Email: email, Scopes: m.Scopes}}
	}
	return in
}

// shielded returns the Shielded VM options. Secure Boot prevents booting unsigned software.
func shielded() *compute.ShieldedInstanceConfig {
	return &compute.ShieldedInstanceConfig{EnableSecureBoot: true, EnableVtpm: true, EnableIntegrityMonitoring: true}
}

// dataDisk returns the attachment of the data disk, which is not deleted with the instance.
func (m *Master) dataDisk() *compute.AttachedDisk {
	zone, name := path.Split(m.Data.Identity())
	return &compute.AttachedDisk{
		Source:     "projects/" + m.In.Clients.Project + "/zones/" + strings.TrimSuffix(zone, "/") + "/disks/" + name,
		DeviceName: DataDevice, Mode: "READ_WRITE", AutoDelete: false,
	}
}

func (m *Master) zonePath() string { return "projects/" + m.In.Clients.Project + "/zones/" + m.Zone }
func (m *Master) typePath() string { return m.zonePath() + "/machineTypes/" + m.Type }

func (m *Master) privateIP() string {
	if !m.PrivateIP.IsValid() {
		return ""
	}
	return m.PrivateIP.String()
}

// accountEmail returns the email of the service account, or "" for none.
func (m *Master) accountEmail() string {
	switch {
	case m.Account == nil:
		return ""
	case m.Account.Identity() == DefaultAccount.Identity():
		return strconv.FormatUint(m.In.Number, 10) + "-compute@developer.gserviceaccount.com"
	}
	return infra.NameOf(m.Account)
}

func metadataItems(values map[string]string) []*compute.MetadataItems {
	var out []*compute.MetadataItems
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, itemOf(key, values[key]))
	}
	return out
}

func itemOf(key, value string) *compute.MetadataItems {
	return &compute.MetadataItems{Key: key, Value: &value}
}

func (m *Master) relabel(ctx context.Context, identity string, marks map[string]string) error {
	instances, project := m.In.Clients.Compute.Instances, m.In.Clients.Project
	zone, name := api.SplitZone(identity)
	return m.In.Relabel(ctx, m.ID(), marks, func() (mark.Labelled, error) {
		live, err := api.Do(ctx, instances.Get(project, zone, name))
		if err != nil {
			return mark.Labelled{}, err
		}
		return mark.Labelled{Labels: live.Labels, Fingerprint: live.LabelFingerprint}, nil
	}, func(l mark.Labelled) error {
		in := &compute.InstancesSetLabelsRequest{Labels: l.Labels, LabelFingerprint: l.Fingerprint}
		return api.Run(ctx, m.In.Clients, instances.SetLabels(project, zone, name, in))
	})
}

func sizeText(gb int64) string { return strconv.FormatInt(gb, 10) + " GB" }
