// Package infra is what of Google's a cluster consists of. Each thing is one small
// resource, in the package of its service; here they are listed and removed. What existed
// before is only pointed at and checked, never changed or removed.
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

// Objects lists and removes what a cluster consists of.
type Objects struct{ *mark.Cluster }

var _ resource.Target = Objects{}

// resourceKinds has those that others need first. Going backwards is the order of `down`,
// but that only the network waits for what hangs on it.
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

// markedKind is a kind of objects that carry marks.
func markedKind[T any](c *mark.Cluster, k mark.Kind[T]) infra.Listed {
	return infra.Listed{Kind: k.Name, List: mark.Inventory(c, k), Remove: k.Delete}
}

// Kinds lists the name of every kind, those that others need first.
func (Objects) Kinds() []string { return resourceKinds(new(mark.Cluster)).Kinds() }

// Inventory lists everything that carries the mark of a cluster, which may be another
// than t's in the same project.
func (t Objects) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	of := *t.Cluster
	of.ID = cluster
	all, err := resourceKinds(&of).List(ctx)
	return mark.ReleaseSecrets(all), err
}

// Remove deletes one object of the inventory. What holds it up and is on its way out is
// waited for. That it is gone already is fine.
func (t Objects) Remove(ctx context.Context, f resource.Found) error {
	return resourceKinds(t.Cluster).Remove(ctx, f)
}
