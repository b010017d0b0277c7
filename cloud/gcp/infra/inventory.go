// Package infra defines a cluster's Google Cloud resources. Each resource is a small type in the
// package of its service; this package lists and deletes them. Existing resources of the user are
// only referenced and checked, never changed or deleted.
package infra

import (
	"context"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/network"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Objects lists and deletes the objects of a cluster.
type Objects struct{ *mark.Cluster }

var _ resource.Target = Objects{}

// resourceKinds returns all kinds, dependencies first. `down` deletes in reverse order, except that
// only the network waits for objects that may be in use by others.
func resourceKinds(c *mark.Cluster) infra.Inventory {
	return slices.Concat(dataKinds(c), networkKinds(c), machineKinds(c))
}

func dataKinds(c *mark.Cluster) infra.Inventory {
	return infra.Inventory{
		infra.ListedOf(c, mark.KindLog, storage.ListLogs, storage.DeleteLog),
		markedKind(c, storage.Secrets(c)),
		markedKind(c, storage.Buckets(c)),
		markedKind(c, storage.Snapshots(c)),
		markedKind(c, storage.Disks(c)),
		infra.ListedOf(c, mark.KindRole, identity.ListRoles, identity.DeleteRole),
		infra.ListedOf(c, mark.KindAccount, identity.ListAccounts, identity.DeleteAccount),
		infra.ListedOf(c, mark.KindBinding, identity.ListBindings, identity.DeleteBinding),
	}
}

func networkKinds(c *mark.Cluster) infra.Inventory {
	return infra.ListApart(
		markedKind(c, network.Networks(c)),
		markedKind(c, network.Subnetworks(c)),
		markedKind(c, network.Firewalls(c)),
		markedKind(c, network.Routers(c)),
		markedKind(c, network.Addresses(c)),
	)
}

func machineKinds(c *mark.Cluster) infra.Inventory {
	return infra.Inventory{
		markedKind(c, compute.Agents(c)),
		markedKind(c, compute.Masters(c)),
	}
}

// markedKind returns the inventory entry for a kind of marked objects.
func markedKind[T any](c *mark.Cluster, k mark.Kind[T]) infra.Listed {
	return infra.Listed{Kind: k.Name, List: mark.Inventory(c, k), Remove: k.Delete}
}

// Kinds returns the names of all kinds, dependencies first.
func (Objects) Kinds() []string { return resourceKinds(new(mark.Cluster)).Kinds() }

// Inventory returns all objects with the mark of a cluster, which may be another cluster in the
// same project.
func (t Objects) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	of := *t.Cluster
	of.ID = cluster
	all, err := resourceKinds(&of).List(ctx)
	return mark.ReleaseSecrets(all), err
}

// Remove deletes an object of the inventory. It waits for objects in use that are being deleted,
// and returns nil if the object no longer exists.
func (t Objects) Remove(ctx context.Context, f resource.Found) error {
	return resourceKinds(t.Cluster).Remove(ctx, f)
}
