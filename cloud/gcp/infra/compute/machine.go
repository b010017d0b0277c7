// Package compute manages the Compute Engine instances of a cluster: the master's, and those
// launched by a master.
package compute

import (
	"context"
	"path"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// toSettle is the limit for a transition of an instance. It is several times the usual duration,
// because Google guarantees none.
var toSettle = infra.Limit{What: "to settle", Max: 10 * time.Minute}

// masterName is the name of the master's instance within the cluster.
const masterName = "master"

// Masters returns the kind of the master's instance. Deleting it waits until it has stopped.
func Masters(c *mark.Cluster) mark.Kind[compute.Instance] {
	k := machineKind(c, mark.KindInstance, func(i *compute.Instance) bool { return i.Name == c.FullName(masterName) })
	k.Delete = func(ctx context.Context, identity string) error { return deleteMachine(ctx, c, identity) }
	return k
}

// Agents returns the kind of instances launched by a master. Deleting one does not wait for
// completion.
func Agents(c *mark.Cluster) mark.Kind[compute.Instance] {
	k := machineKind(c, mark.KindAgent, func(i *compute.Instance) bool { return i.Name != c.FullName(masterName) })
	k.Delete = func(ctx context.Context, identity string) error {
		zone, name := api.SplitZone(identity)
		return c.Waiter().RetryWhileInUse(ctx, identity, func() error {
			return api.Begin(ctx, c.Clients, c.Clients.Compute.Instances.Delete(c.Clients.Project, zone, name))
		})
	}
	return k
}

// machineKind returns one of the two kinds of instances.
func machineKind(c *mark.Cluster, name string, belongs func(*compute.Instance) bool) mark.Kind[compute.Instance] {
	return mark.KindOf(c, name, c.LabelFilter(), mark.Calls[compute.Instance]{
		Get: func(ctx context.Context, identity string) (*compute.Instance, error) {
			zone, name := api.SplitZone(identity)
			return api.Do(ctx, c.Clients.Compute.Instances.Get(c.Clients.Project, zone, name))
		},
		Delete: func(ctx context.Context, identity string) error {
			zone, name := api.SplitZone(identity)
			return api.Run(ctx, c.Clients, c.Clients.Compute.Instances.Delete(c.Clients.Project, zone, name))
		},
		List: func(ctx context.Context, filter string) ([]*compute.Instance, error) {
			return c.Clients.ListInstances(ctx, filter)
		},
	}, func(i *compute.Instance) infra.Observed {
		return infra.Observed{Identity: path.Base(i.Zone) + "/" + i.Name, Marks: i.Labels, Deleting: !belongs(i)}
	})
}

// deleteMachine deletes an instance. It first disables the deletion protection that det-deploy has
// enabled.
func deleteMachine(ctx context.Context, c *mark.Cluster, identity string) error {
	instances, project := c.Clients.Compute.Instances, c.Clients.Project
	zone, name := api.SplitZone(identity)
	return c.Waiter().RetryWhileInUse(ctx, identity, func() error {
		live, err := api.Do(ctx, instances.Get(project, zone, name))
		if err == nil && live.DeletionProtection {
			err = api.Run(ctx, c.Clients, instances.SetDeletionProtection(project, zone, name).DeletionProtection(false))
		}
		if err != nil {
			return err
		}
		return api.Run(ctx, c.Clients, instances.Delete(project, zone, name))
	})
}

// retryUntilSettled repeats a call until the instance has completed its transition.
func retryUntilSettled(ctx context.Context, c *mark.Cluster, identity string, call func() error) error {
	return c.Waiter().RetryOn(ctx, identity, toSettle, cloud.Conflict, call)
}
