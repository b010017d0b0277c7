// Package compute is the machines of a cluster: the master's, and those that a master
// launched.
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

// toSettle is for a machine that is on its way from one state to another. Google promises
// no times; this is several times what is usual.
var toSettle = infra.Limit{What: "to settle", Max: 10 * time.Minute}

// masterName is what the master's machine is called in the cluster.
const masterName = "master"

// Masters are the master's machine. It goes once it has stopped.
func Masters(c *mark.Cluster) mark.Kind[compute.Instance] {
	k := machineKind(c, mark.KindInstance, func(i *compute.Instance) bool { return i.Name == c.FullName(masterName) })
	k.Delete = func(ctx context.Context, identity string) error { return deleteMachine(ctx, c, identity) }
	return k
}

// Agents are the machines that a master launched. Their end is begun, not waited for.
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

// machineKind is one of the two kinds of machines.
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

// deleteMachine removes a machine. Its protection against that is ours, and is switched
// off first.
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

// settleMachine makes a call that wants a machine to be in another state than it is still
// on its way to.
func settleMachine(ctx context.Context, c *mark.Cluster, identity string, call func() error) error {
	return c.Waiter().RetryOn(ctx, identity, toSettle, cloud.Conflict, call)
}
