package parts

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/master"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
	"github.com/det-deploy/det-deploy/templates"
)

// gcpProvider launches Compute Engine instances.
type gcpProvider struct {
	open func(context.Context, api.Options) (api.Clients, error)
	home fleet.Home
	keys *attest.Keys

	mu     sync.Mutex // guards fleets
	fleets fleet.Pools
}

var _ master.Provider = (*gcpProvider)(nil)

func newGCPProvider() *gcpProvider {
	return &gcpProvider{open: api.Open, keys: &attest.Keys{Now: time.Now}}
}

// Attestor implements master.Provider. The attestor compares proofs with the fleets of all pools, which
// know the zones of their machines.
func (g *gcpProvider) Attestor(master.Env, []config.Pool) ([]string, cloud.Attestor, error) {
	return []string{attest.KindToken, attest.KindGuest}, attest.Verifier{Keys: g.keys, Machines: g, Now: g.keys.Now}, nil
}

// FindMachine implements attest.Machines.
func (g *gcpProvider) FindMachine(ctx context.Context, name cloud.InstanceID) (attest.Machine, error) {
	return g.copyFleets().FindMachine(ctx, name)
}

// ReadGuestAttribute implements attest.Machines.
func (g *gcpProvider) ReadGuestAttribute(ctx context.Context, m attest.Machine, key string) (string, error) {
	return g.copyFleets().ReadGuestAttribute(ctx, m, key)
}

func (g *gcpProvider) copyFleets() fleet.Pools {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append(fleet.Pools(nil), g.fleets...)
}

// Machines implements master.Provider.
func (g *gcpProvider) Machines(ctx context.Context, env master.Env, pool config.Pool) (master.Machines, error) {
	p := *pool.Provider.GCP
	zones, err := g.findZones(ctx, p)
	if err != nil {
		return master.Machines{}, err
	}
	clients, err := g.openClients(ctx, env, p, zones[0])
	if err != nil {
		return master.Machines{}, err
	}
	c, err := g.fleetConfig(ctx, env, p)
	if err != nil {
		return master.Machines{}, err
	}
	c.Pool, c.Zones = pool.Name, zones
	f, err := fleet.New(clients, c)
	if err != nil {
		return master.Machines{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fleets = append(g.fleets, f)
	var types []string
	for _, m := range p.Machines() {
		types = append(types, m.Type().String())
	}
	p.Project, p.LabelValue = clients.Project, c.Pair.Value
	return master.Machines{
		Instances: f, Slots: p.Slots(p.Machines()[0]), LaunchWait: time.Duration(p.OperationTimeoutPeriod),
		Describe: func(out *apiv1.ResourcePool) { describeGCP(p, zones, out) },
		Offers:   cloud.OrderOffers(types, zones, p.IsSpot(), p.Spot.FallbackToOnDemand),
	}, nil
}

// findZones returns the zones of a pool, by default the zone of this machine.
func (g *gcpProvider) findZones(ctx context.Context, p provider.GCP) ([]string, error) {
	if zones := p.ZoneList(); len(zones) > 0 {
		return zones, nil
	}
	zone, err := g.home.Zone(ctx)
	return []string{zone}, err
}

// openClients opens clients for the provider's project, or else that of the master's machine, or else the
// environment's.
func (g *gcpProvider) openClients(ctx context.Context, env master.Env, p provider.GCP, zone string) (api.Clients, error) {
	own, err := g.home.Project(ctx)
	if err != nil {
		own = "" // it does not run on Google Cloud
	}
	clients, err := g.open(ctx, api.Options{Project: cmp.Or(p.Project, own), Region: fleet.RegionOf(zone), Log: env.Log})
	switch {
	case err != nil && p.Project == "" && own == "":
		return api.Clients{}, &cloud.Error{
			Kind: cloud.Invalid, Op: "find the project of agents", Fix: "set provider.project, because the master does not run on a Google Cloud machine", Err: err,
		}
	case err != nil:
		return api.Clients{}, err
	case own != "" && clients.Project != own:
		return api.Clients{}, &cloud.Error{
			Kind: cloud.Invalid, Op: "configure provider.project", Fix: "remove provider.project; for a network of another project, give its path in network_interface",
			Err: fmt.Errorf("agents cannot be in project %s while the master is in %s", clients.Project, own),
		}
	}
	return clients, nil
}

// fleetConfig returns the configuration of a pool's machines, except for the pool's name and zones.
func (g *gcpProvider) fleetConfig(ctx context.Context, env master.Env, p provider.GCP) (fleet.Config, error) {
	scheme := "http"
	if env.Config.Security.TLS.Enabled() {
		scheme = "https"
	}
	address, err := g.home.Address(ctx, p.MasterURL, scheme, env.Config.ListenPort())
	if err != nil {
		return fleet.Config{}, err
	}
	c := fleet.Config{
		Cluster: env.ClusterID, Pair: fleet.Label{Key: p.LabelKey, Value: p.LabelValue}, Labels: p.Labels, NamePrefix: p.NamePrefix, MasterURL: address,
		Image: p.BootDiskSourceImage, BootDiskGB: int64(p.BootDiskSize), BootDiskType: path.Base(p.BootDiskType),
		Network: p.NetworkInterface.Network, Subnetwork: p.NetworkInterface.Subnetwork, ExternalIP: p.NetworkInterface.ExternalIP, Tags: p.NetworkTags,
		Account: p.ServiceAccount.Email, Scopes: p.ServiceAccount.Scopes, Spot: p.IsSpot(), BaseConfig: p.BaseConfig.JSON(),
		OperationTimeout: time.Duration(p.OperationTimeoutPeriod), Log: env.Log,
	}
	if c.Pair.Value == "" {
		c.Pair.Value = g.home.LabelValue(ctx)
	}
	if c.Pair.Key == fleet.LabelAgents {
		c.Cluster = c.Pair.Value // the agents are then removed together with the cluster
	}
	if p.BootDiskType == "" {
		c.BootDiskType = ""
	}
	script, err := startupScript(env, address, c.Cluster, p)
	c.StartupScript = string(script)
	return c, err
}

// startupScript returns the script that a machine runs at each boot.
func startupScript(env master.Env, address, cluster string, p provider.GCP) ([]byte, error) {
	b, err := agentBoot(env, address, p.Elastic)
	if err != nil {
		return nil, err
	}
	if p.UseCloudLogging {
		b.Logs = cmp.Or(p.Log, "det-deploy-"+cluster)
	}
	b.Metrics = p.UseCloudLogging
	if p.Metrics != nil {
		b.Metrics = *p.Metrics
	}
	return templates.GoogleAgentBoot{AgentBoot: b}.Render()
}
