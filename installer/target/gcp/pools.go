package gcp

import (
	"cmp"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// liveIDs returns the names of the Google Cloud objects in master.yaml. They are known before the
// objects exist.
func (b *blueprint) liveIDs() (hosted.Live, bool, error) {
	l, err := b.live()
	return l, true, err
}

func (t *Target) live() (hosted.Live, error) {
	s := t.Spec.Storage
	l := hosted.Live{Storage: config.CheckpointStorage{GCS: &config.GCSStorage{Saved: s.Saved, Bucket: t.dataBucket(), Prefix: s.Prefix}}}
	pools := t.Spec.AllPools()
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		pool, err := t.poolConfig(name, pools[name])
		if err != nil {
			return hosted.Live{}, err
		}
		l.Pools = append(l.Pools, pool)
	}
	return l, nil
}

func (t *Target) poolConfig(name string, p spec.GCPPool) (config.Pool, error) {
	out := t.NewPool(name, p.Pool)
	google := &provider.GCP{}
	google.SetDefaults()
	elastic, err := t.NewElastic(p.Pool)
	if err != nil {
		return config.Pool{}, err
	}
	google.Elastic = elastic
	google.Project, google.Zones = t.Spec.Project, t.PoolZones(p)
	google.BaseConfig = p.BaseConfig
	google.BootDiskSize = cmp.Or(p.BootDisk.Size, t.Spec.Agents.BootDisk.Size)
	google.BootDiskType = cmp.Or(p.BootDisk.Type, t.Spec.Agents.BootDisk.Type)
	google.BootDiskSourceImage = t.AgentImage(p)
	google.Labels, google.LabelKey, google.LabelValue = t.Spec.Labels, fleet.LabelAgents, t.Spec.Cluster
	google.NetworkInterface = t.agentNetwork()
	google.NetworkTags = t.agentTags()
	google.ServiceAccount.Email = t.agentEmail()
	t.setMachines(google, p.Machines)
	google.CPUSlotsAllowed = p.CPUSlots
	google.Spot = provider.Spot{Enabled: p.Spot, FallbackToOnDemand: p.FallbackToOnDemand}
	if google.ServiceAccount.Email != "" { // machines without an account cannot write logs
		google.UseCloudLogging, google.Log, google.Metrics = true, storage.LogID(t.Spec.Cluster), &t.Spec.Metrics
	}
	out.Provider = &provider.Provider{GCP: google}
	return out, nil
}

// agentNetwork returns the network of agents by path, because paths do not depend on the zone.
func (t *Target) agentNetwork() provider.GCPNetwork {
	n := t.Spec.Network
	network, subnetwork := infra.Existing(t.cluster.FullName("")), infra.Existing(t.cluster.FullName(t.Spec.Region))
	if !n.Own() {
		network, subnetwork = existingIn(n.HostProject, n.Network), existingIn(n.HostProject, n.Subnetwork)
	}
	return provider.GCPNetwork{
		Network: t.cluster.NetworkLink(network), Subnetwork: t.cluster.SubnetworkLink(subnetwork), ExternalIP: n.ExternalIP,
	}
}

// agentEmail returns the account of agents, or "" for none.
func (t *Target) agentEmail() string {
	if t.Spec.Roles.Agent == spec.NoAccount {
		return ""
	}
	return cmp.Or(t.AgentAccount(), (&identity.Account{In: t.cluster, Name: "agent"}).Email())
}

// setMachines sets the machine types of a pool. The GPU count of an attachable GPU is explicit even
// if it is zero, because the default adds GPUs. For types with built-in GPUs, it is the number that
// Google reports.
func (t *Target) setMachines(google *provider.GCP, machines []spec.GCPMachine) {
	all := make([]provider.GCPMachine, len(machines))
	for i, m := range machines {
		all[i].MachineType = m.MachineType
		_, listed := m.Type().BroughtGPUs()
		switch {
		case m.GPUNum > 0 || !m.Type().BringsGPUs():
			all[i].GPUType, all[i].GPUNum = &m.GPUType, &m.GPUNum
		case !listed:
			gpus := t.Known.Types[m.Type().String()].GPUs
			all[i].GPUNum = &gpus
		}
	}
	google.InstanceType.GCPMachine = all[0]
	if len(all) > 1 {
		google.InstanceTypes = all
	}
}
