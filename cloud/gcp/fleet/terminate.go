package fleet

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// Terminate implements cloud.Instances with one call per instance. It continues with the others if
// one fails.
func (f *Fleet) Terminate(ctx context.Context, ids []cloud.InstanceID) error {
	zones, err := f.findZones(ctx, ids)
	if err != nil {
		return err
	}
	errs := make([]error, len(ids))
	eachOf(len(ids), func(n int) {
		if zone := zones[ids[n]]; zone != "" {
			errs[n] = f.deleteMachine(ctx, ids[n], zone)
		}
	})
	return errors.Join(errs...)
}

// deleteMachine deletes an instance. An instance that is already being deleted returns a Conflict.
func (f *Fleet) deleteMachine(ctx context.Context, id cloud.InstanceID, zone string) error {
	f.skipEnd(id)
	err := api.Begin(ctx, f.clients, f.clients.Compute.Instances.Delete(f.clients.Project, zone, string(id)))
	switch cloud.KindOf(err) {
	case cloud.NotFound:
		return nil
	case cloud.Conflict:
		live, lookErr := api.Do(ctx, f.clients.Compute.Instances.Get(f.clients.Project, zone, string(id)))
		if cloud.KindOf(lookErr) == cloud.NotFound || lookErr == nil && stateOf(live.Status) == cloud.InstanceStopping {
			return nil
		}
	default:
	}
	return err
}
