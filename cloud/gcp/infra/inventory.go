// Package infra is what of Google's a cluster consists of. Each thing is one small
// resource, in the package of its service; here they are listed and removed. What existed
// before is only pointed at and checked, never changed or removed.
package infra

import (
	"context"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/network"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Target lists and removes what a cluster consists of.
type Target struct{ *owner.Cluster }

var _ resource.Target = Target{}

// kind is one kind of what a cluster consists of: how it is listed, and how one of it is
// removed.
type kind struct {
	name   string
	list   func(context.Context) ([]resource.Found, error)
	remove func(ctx context.Context, id string) error
}

// resourceKinds has those that others need first. Going backwards is the order of `down`.
func resourceKinds(c *owner.Cluster) []kind {
	return []kind{
		ownKind(c, owner.KindLog, storage.ListLogs, storage.DeleteLog),
		markedKind(c, storage.Secrets(c)),
		markedKind(c, storage.Buckets(c)),
		markedKind(c, storage.Snapshots(c)),
		markedKind(c, storage.Disks(c)),
		ownKind(c, owner.KindRole, identity.ListRoles, identity.DeleteRole),
		ownKind(c, owner.KindAccount, identity.ListAccounts, identity.DeleteAccount),
		ownKind(c, owner.KindBinding, identity.ListBindings, identity.DeleteBinding),
		markedKind(c, network.Networks(c)),
		markedKind(c, network.Subnetworks(c)),
		markedKind(c, network.Firewalls(c)),
		markedKind(c, network.Routers(c)),
		markedKind(c, network.Addresses(c)),
		markedKind(c, compute.Agents(c)),
		markedKind(c, compute.Masters(c)),
	}
}

// markedKind is a kind of objects that carry marks.
func markedKind[T any](c *owner.Cluster, k owner.Kind[T]) kind {
	return kind{k.Name, owner.Inventory(c, k), k.Delete}
}

// ownKind is a kind that is listed in a way of its own.
func ownKind(
	c *owner.Cluster, name string,
	list func(context.Context, *owner.Cluster) ([]resource.Found, error), remove func(context.Context, *owner.Cluster, string) error,
) kind {
	return kind{
		name:   name,
		list:   func(ctx context.Context) ([]resource.Found, error) { return list(ctx, c) },
		remove: func(ctx context.Context, id string) error { return remove(ctx, c, id) },
	}
}

// Kinds lists the name of every kind, those that others need first.
func (Target) Kinds() []string {
	var out []string
	for _, k := range resourceKinds(new(owner.Cluster)) {
		out = append(out, k.name)
	}
	return out
}

// Inventory lists everything that carries the mark of a cluster, which may be another
// than t's in the same project.
func (t Target) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	of := *t.Cluster
	of.ID = cluster
	var listers []infra.Lister
	for _, k := range resourceKinds(&of) {
		listers = append(listers, infra.Lister{Kind: k.name, List: k.list})
	}
	all, err := infra.ListAll(ctx, listers)
	return owner.ReleaseSecrets(all), err
}

// Remove deletes one object of the inventory. What holds it up and is on its way out is
// waited for. That it is gone already is fine.
func (t Target) Remove(ctx context.Context, f resource.Found) error {
	all := resourceKinds(t.Cluster)
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == f.Kind })
	if i < 0 {
		return fmt.Errorf("remove %s: this program knows no %s on Google Cloud", f, f.Kind)
	}
	return all[i].remove(ctx, f.ID)
}
