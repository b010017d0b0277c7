package fleet

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
)

// Pools holds all pools of a cluster, to find the instance of a proof.
type Pools []*Fleet

var _ attest.Machines = Pools{}

// FindMachine implements attest.Machines. It queries Google only for instances that a pool has
// launched, listed or restored.
func (p Pools) FindMachine(ctx context.Context, name cloud.InstanceID) (attest.Machine, error) {
	for _, f := range p {
		if zones, known := f.knownZones([]cloud.InstanceID{name}); known {
			return f.describeMachine(ctx, name, zones[name])
		}
	}
	return attest.Machine{}, notLaunched(name)
}

func notLaunched(name cloud.InstanceID) error {
	return &cloud.Error{
		Kind: cloud.NotFound, Op: "find the machine of a proof",
		Err: errors.New("machine '" + string(name) + "' was not launched by this master, or is not known yet"),
	}
}

func (f *Fleet) describeMachine(ctx context.Context, name cloud.InstanceID, zone string) (attest.Machine, error) {
	live, err := api.Do(ctx, f.clients.Compute.Instances.Get(f.clients.Project, zone, string(name)))
	switch {
	case cloud.KindOf(err) == cloud.NotFound, err == nil && !f.isOurs(live):
		return attest.Machine{}, notLaunched(name)
	case err != nil:
		return attest.Machine{}, err
	}
	return attest.Machine{Project: f.clients.Project, Zone: zone, Name: live.Name, Number: live.Id, Account: f.accountOf(live)}, nil
}

// accountOf returns the service account of the pool's instances. The email of the project's default
// account is taken from the instance.
func (f *Fleet) accountOf(live *compute.Instance) string {
	accounts := mergeAccounts(f.cfg, f.base)
	switch {
	case len(accounts) == 0:
		return ""
	case accounts[0].Email != "default":
		return accounts[0].Email
	case len(live.ServiceAccounts) == 0:
		return accounts[0].Email // no account has this email, so it matches no token
	}
	return live.ServiceAccounts[0].Email
}

// ReadGuestAttribute implements attest.Machines.
func (p Pools) ReadGuestAttribute(ctx context.Context, m attest.Machine, key string) (string, error) {
	at := slices.IndexFunc(p, func(f *Fleet) bool {
		_, known := f.knownZones([]cloud.InstanceID{cloud.InstanceID(m.Name)})
		return known
	})
	if at < 0 {
		return "", notLaunched(cloud.InstanceID(m.Name))
	}
	out, err := api.Do(ctx, p[at].clients.Compute.Instances.GetGuestAttributes(p[at].clients.Project, m.Zone, m.Name).QueryPath(key))
	if err != nil {
		return "", err
	}
	for _, item := range attributesOf(out) {
		if item.Namespace+"/"+item.Key == key {
			return item.Value, nil
		}
	}
	return "", &cloud.Error{Kind: cloud.NotFound, Op: "compute.instances.getGuestAttributes", Err: errors.New("machine " + m.Name + " has no attribute " + key)}
}

func attributesOf(a *compute.GuestAttributes) []*compute.GuestAttributesEntry {
	if a.QueryValue == nil {
		return nil
	}
	return a.QueryValue.Items
}
