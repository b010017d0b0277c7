package fleet_test

import (
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const (
	zoneA   = "us-west1-a"
	zoneB   = "us-west1-b"
	network = "global/networks/default"
)

// pool is a pool in a fake Google Cloud.
type pool struct {
	*fleet.Fleet

	world  *gcptest.World
	caller gcptest.Caller
	cfg    fleet.Config
}

func config(t *testing.T) fleet.Config {
	t.Helper()
	return fleet.Config{
		Cluster: "lab", Pool: "gpu", Pair: fleet.Label{Key: "managed-by", Value: "lab"}, MasterURL: "https://10.0.0.1:8443",
		Labels: map[string]string{"team": "vision"}, Zones: []string{zoneA, zoneB}, Image: gcptest.ImageUbuntu, BootDiskGB: 200, BootDiskType: "pd-standard",
		Tags: []string{"det-lab-agent"}, StartupScript: "#!/bin/sh\n", Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func open(t *testing.T, o gcptest.Options, change func(*fleet.Config)) *pool {
	t.Helper()
	p := &pool{world: gcptest.New(t, o), cfg: config(t)}
	if change != nil {
		change(&p.cfg)
	}
	return p.reopen(t, nil)
}

// reopen returns the pool as seen by another master.
func (p *pool) reopen(t *testing.T, change func(*pool)) *pool {
	t.Helper()
	out := *p
	if change != nil {
		change(&out)
	}
	f, err := fleet.New(out.clients(t), out.cfg)
	if err != nil {
		t.Fatal(err)
	}
	out.Fleet = f
	return &out
}

func (p *pool) clients(t *testing.T) api.Clients {
	t.Helper()
	client := p.world.Client("")
	client.Transport = p.world.Transport(p.caller)
	c, err := api.New(t.Context(), client, api.Options{Project: gcptest.Project, Region: "us-west1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func onDemand(zone string) cloud.Offer {
	return cloud.Offer{Type: "n1-standard-8+2xnvidia-tesla-t4", Zone: zone, Price: cloud.OnDemand}
}

func spot(zone string) cloud.Offer {
	o := onDemand(zone)
	o.Price = cloud.Spot
	return o
}

func (p *pool) launch(t *testing.T, token string, count int, o cloud.Offer) []cloud.Instance {
	t.Helper()
	got, err := p.Launch(t.Context(), cloud.Launch{Token: token, Offer: o, Count: count})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (p *pool) list(t *testing.T) []cloud.Instance {
	t.Helper()
	got, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// live returns the existing instances by name.
func (p *pool) live() map[string]*compute.Instance {
	out := make(map[string]*compute.Instance)
	for _, i := range p.world.Instances() {
		out[i.Name] = i
	}
	return out
}

func (p *pool) names() []string { return slices.Sorted(maps.Keys(p.live())) }

func TestInstances(t *testing.T) {
	t.Parallel()
	slow := gcptest.Options{Operation: 20 * time.Millisecond, Provisioning: 10 * time.Millisecond, Staging: 20 * time.Millisecond, Stopping: 50 * time.Millisecond}
	late := slow
	late.Lag, late.IgnoreFilters = 100*time.Millisecond, true
	for name, tc := range map[string]struct {
		options gcptest.Options
		offer   cloud.Offer
	}{
		"on demand":                       {slow, onDemand(zoneB)},
		"spot":                            {slow, spot(zoneB)},
		"lists lag and filters are loose": {late, onDemand(zoneB)},
		"operations end at once":          {gcptest.Options{}, onDemand(zoneB)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, tc.options, tc.offer).Run(t)
		})
	}
}

func suite(t *testing.T, o gcptest.Options, offer cloud.Offer) cloudtest.InstancesSuite {
	t.Helper()
	of := func(i cloud.Instances) *pool { return i.(*pool) }
	return cloudtest.InstancesSuite{
		New: func(t *testing.T) cloud.Instances {
			t.Helper()
			return open(t, o, func(c *fleet.Config) { c.Spot = offer.Price == cloud.Spot })
		},
		Offer: offer,
		Reopen: func(t *testing.T, i cloud.Instances) cloud.Instances {
			t.Helper()
			return of(i).reopen(t, nil)
		},
		Other: func(t *testing.T, i cloud.Instances) cloud.Instances {
			t.Helper()
			return of(i).reopen(t, func(p *pool) { p.cfg.Pool = "other" })
		},
		NoCapacity: func(_ *testing.T, i cloud.Instances) { of(i).world.StockOut(zoneB, "", -1) },
		LoseReply: func(_ *testing.T, i cloud.Instances) {
			of(i).world.FailOp("compute.instances.insert", faults.LoseReply)
		},
		// A deleted instance leaves no record of its name.
		Unknown: "det-lab-gpu-aaaaaaaaaaaa-0", TokensEnd: true, Patience: time.Minute,
	}
}
