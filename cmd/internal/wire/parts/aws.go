package parts

import (
	"context"
	"log/slog"
	"os"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/attest"
	"github.com/det-deploy/det-deploy/cloud/aws/fleet"
	"github.com/det-deploy/det-deploy/master"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// awsProvider launches EC2 instances.
type awsProvider struct{}

var _ master.Provider = awsProvider{}

// Attestor implements master.Provider.
func (awsProvider) Attestor(env master.Env, pools []config.Pool) ([]string, cloud.Attestor, error) {
	var providers []provider.AWS
	for _, p := range pools {
		providers = append(providers, *p.Provider.AWS)
	}
	a, err := newAWSAttestor(env, providers)
	return []string{attest.Kind}, a, err
}

// Machines implements master.Provider.
func (awsProvider) Machines(ctx context.Context, env master.Env, pool config.Pool) (master.Machines, error) {
	p := *pool.Provider.AWS
	home, err := fleet.Here(ctx)
	if err != nil {
		return master.Machines{}, err
	}
	clients, err := openAWSClients(ctx, env.Log, home, p)
	if err != nil {
		return master.Machines{}, err
	}
	c, err := awsFleet(ctx, env, home, p)
	if err != nil {
		return master.Machines{}, err
	}
	c.Pool = pool.Name
	f, err := fleet.New(clients.EC2, c)
	if err != nil {
		return master.Machines{}, err
	}
	slots, _ := p.Slots(p.Types()[0]) // an unknown type is a configuration error that was already reported
	return master.Machines{
		Instances: f, Slots: slots,
		Describe: func(out *apiv1.ResourcePool) { describeAWS(p, out) },
		Offers:   cloud.OrderOffers(p.Types(), c.Subnets, p.Spot.Enabled, p.Spot.FallbackToOnDemand),
	}, nil
}

func openAWSClients(ctx context.Context, log *slog.Logger, home fleet.Home, p provider.AWS) (api.Clients, error) {
	region, err := awsRegion(ctx, home, p)
	if err != nil {
		return api.Clients{}, err
	}
	return api.Open(ctx, api.Options{Region: region, Log: log})
}

// awsRegion returns the provider's region, or else that of the master's machine, or else the
// environment's.
func awsRegion(ctx context.Context, home fleet.Home, p provider.AWS) (string, error) {
	if p.Region != "" {
		return p.Region, nil
	}
	region, err := home.Region(ctx)
	if err != nil {
		for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
			if region = os.Getenv(name); region != "" {
				return region, nil
			}
		}
	}
	return region, err
}

// awsFleet returns the configuration of a pool's machines, except for the pool's name.
func awsFleet(ctx context.Context, env master.Env, home fleet.Home, p provider.AWS) (fleet.Config, error) {
	scheme := "http"
	if env.Config.Security.TLS.Enabled() {
		scheme = "https"
	}
	address, err := home.Address(ctx, p.MasterURL, scheme, env.Config.ListenPort())
	if err != nil {
		return fleet.Config{}, err
	}
	data, err := awsUserData(env, address, p)
	if err != nil {
		return fleet.Config{}, err
	}
	c := fleet.Config{
		Cluster: env.ClusterID, Tag: fleet.Tag{Key: p.TagKey, Value: p.TagValue}, Name: p.InstanceName, MasterURL: address,
		Image: p.ImageID, RootDevice: p.RootDeviceName, RootGB: p.RootVolumeSize, Subnets: p.Subnets, Group: p.NetworkInterface.SecurityGroupID,
		PublicIP: p.NetworkInterface.PublicIP, Key: p.SSHKeyName, ProfileARN: p.IAMInstanceProfileARN,
		Spot: p.Spot.Enabled, MaxPrice: p.SpotMaxPrice, UserData: data, Log: env.Log,
	}
	if p.Spot.MaxPrice != "" {
		c.MaxPrice = p.Spot.MaxPrice
	}
	if len(c.Subnets) == 0 && p.NetworkInterface.SubnetID != "" {
		c.Subnets = []string{p.NetworkInterface.SubnetID}
	}
	if c.Tag.Value == "" {
		c.Tag.Value = home.TagValue(ctx)
	}
	if c.Tag.Key == fleet.TagAgents {
		c.Cluster = c.Tag.Value // the agents are then removed together with the cluster
	}
	for _, t := range p.CustomTags {
		c.Tags = append(c.Tags, fleet.Tag{Key: t.Key, Value: t.Value})
	}
	return c, nil
}

// awsUserData returns the user data of a machine.
func awsUserData(env master.Env, address string, p provider.AWS) ([]byte, error) {
	b, err := agentBoot(env, address, p.Elastic)
	if err != nil {
		return nil, err
	}
	b.Logs, b.Metrics, b.Endpoint = p.LogGroup, reportsMetrics(p), awsEndpoint()
	return b.Render()
}

// reportsMetrics reports whether the machines of a pool send metrics.
func reportsMetrics(p provider.AWS) bool {
	if p.Metrics != nil {
		return *p.Metrics
	}
	return p.LogGroup != ""
}

// awsEndpoint returns an override of AWS endpoints; the SDK reads the same variable.
func awsEndpoint() string { return os.Getenv("AWS_ENDPOINT_URL") }
