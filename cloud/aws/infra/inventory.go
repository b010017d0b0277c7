// Package infra is everything of Amazon's that a cluster consists of. Each thing is one
// small resource, in the package of its service; here they are listed and removed. What
// existed before is only pointed at and checked, never changed or removed.
package infra

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/network"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Target lists and removes what a cluster consists of.
type Target struct{ *owner.Cluster }

var _ resource.Target = Target{}

// kind is one kind of what a cluster consists of: how it is listed, and how one of it
// is removed.
type kind struct {
	name   string
	list   func(context.Context) ([]resource.Found, error)
	remove func(ctx context.Context, id string) error
}

// resourceKinds has those that others need first. Going backwards is the order of `down`:
//
//	stop the master, its disk and address come off ──▶ the master goes, so that
//	nothing launches agents ──▶ spot requests, agents ──▶ what hangs on the
//	network ──▶ the network ──▶ roles ──▶ data, then what opens it ──▶ logs
func resourceKinds(c *owner.Cluster) []kind {
	return []kind{
		ownKind(c, owner.KindLogGroup, storage.ListLogGroups, storage.DeleteLogGroup),
		ownKind(c, owner.KindSecret, storage.ListSecrets, storage.DeleteSecret),
		ownKind(c, owner.KindBucket, storage.ListBuckets, storage.DeleteBucket),
		taggedKind(c, storage.Snapshots(c)),
		taggedKind(c, storage.Volumes(c)),
		ownKind(c, owner.KindRole, identity.ListRoles, identity.DeleteRole),
		ownKind(c, owner.KindProfile, identity.ListProfiles, identity.DeleteProfile),
		taggedKind(c, network.VPCs(c)),
		taggedKind(c, network.Gateways(c)),
		taggedKind(c, network.Subnets(c)),
		taggedKind(c, network.Groups(c)),
		taggedKind(c, network.RouteTables(c)),
		taggedKind(c, network.Endpoints(c)),
		ownKind(c, owner.KindRules, network.ListRules, network.CloseRules),
		taggedKind(c, network.Addresses(c)),
		taggedKind(c, network.Interfaces(c)),
		taggedKind(c, compute.Agents(c)),
		taggedKind(c, compute.SpotRequests(c)),
		taggedKind(c, compute.Masters(c)),
		ownKind(c, owner.KindAssociation, network.ListAssociations, network.Disassociate),
		ownKind(c, owner.KindAttachment, compute.ListAttachments, compute.DetachVolume),
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

// taggedKind is a kind of EC2's objects that carry tags.
func taggedKind[T any](c *owner.Cluster, k infra.Kind[T]) kind {
	return kind{k.Name, owner.Inventory(c, k), k.Delete}
}

// ownKind is a kind that is listed in a way of its own. The tagging service would be
// one call for most kinds, but knows no addresses and nothing of IAM's.
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

// Inventory lists everything that carries the mark of a cluster, which may be another
// than t's in the same account.
func (t Target) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	of := *t.Cluster
	of.ID = cluster
	var listers []infra.Lister
	for _, k := range resourceKinds(&of) {
		listers = append(listers, infra.Lister{Kind: k.name, List: k.list})
	}
	all, err := infra.ListAll(ctx, listers)
	if err != nil {
		return nil, err
	}
	return t.ReleaseSecrets(all), nil
}
