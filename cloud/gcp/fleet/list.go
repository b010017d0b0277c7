package fleet

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
)

// List implements cloud.Instances with one list of all zones. It returns an error if a zone is
// missing, so that no instance counts as deleted by mistake.
func (f *Fleet) List(ctx context.Context) ([]cloud.Instance, error) {
	all, err := f.listMachines(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]cloud.Instance, 0, len(all))
	for _, i := range all {
		m := f.toInstance(i)
		if m.State == cloud.InstanceStopped || m.State == cloud.InstanceStopping {
			m.Reason, m.Kind = f.explainEnd(ctx, i)
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b cloud.Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	f.rememberPlaces(out, true)
	f.forgetMissing(out)
	return out, nil
}

func (f *Fleet) listMachines(ctx context.Context) ([]*compute.Instance, error) {
	all, err := f.clients.ListInstances(ctx, f.filter())
	return slices.DeleteFunc(all, func(i *compute.Instance) bool { return !f.isOurs(i) }), err
}

// toInstance converts an instance to the caller's type.
func (f *Fleet) toInstance(i *compute.Instance) cloud.Instance {
	zone := path.Base(i.Zone)
	launched, _ := time.Parse(time.RFC3339, i.CreationTimestamp) // zero if Google does not return it
	m := cloud.Instance{
		ID: cloud.InstanceID(i.Name), State: stateOf(i.Status), Zone: zone, Token: metadataValue(i, keyToken), Launched: launched,
		Offer: cloud.Offer{Type: metadataValue(i, keyType), Zone: zone, Price: cloud.OnDemand},
	}
	if properties.IsSpot(i.Scheduling) {
		m.Offer.Price = cloud.Spot
	}
	return m
}

// stateOf converts Google's status. An unknown status counts as a transition: the instance is
// counted, and neither used nor replaced.
func stateOf(status string) cloud.InstanceState {
	switch status {
	case "PENDING", "PROVISIONING", "STAGING":
		return cloud.InstanceStarting
	case "RUNNING", "REPAIRING":
		return cloud.InstanceRunning
	case "TERMINATED", "STOPPED", "SUSPENDED":
		return cloud.InstanceStopped
	default:
		return cloud.InstanceStopping
	}
}
