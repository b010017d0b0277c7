// Package infra is everything of Amazon's that a cluster consists of. Each thing is one
// small resource, in the package of its service; here they are listed and removed. What
// existed before is only pointed at and checked, never changed or removed.
package infra

import (
	"context"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/network"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Objects lists and removes what a cluster consists of.
type Objects struct{ *mark.Cluster }

var _ resource.Target = Objects{}

// resourceKinds has those that others need first. Going backwards is the order of `down`:
//
//	stop the master, its disk and address come off ──▶ the master goes, so that
//	nothing launches agents ──▶ spot requests, agents ──▶ what hangs on the
//	network ──▶ the network
//	        ──▶ roles ──▶ data, then what opens it ──▶ logs
func resourceKinds(c *mark.Cluster) infra.Inventory {
	return slices.Concat(dataKinds(c), networkKinds(c), machineKinds(c))
}

func dataKinds(c *mark.Cluster) infra.Inventory {
	return infra.Inventory{
		infra.ListedOf(c, mark.KindLogGroup, storage.ListLogGroups, storage.DeleteLogGroup),
		infra.ListedOf(c, mark.KindSecret, storage.ListSecrets, storage.DeleteSecret),
		infra.ListedOf(c, mark.KindBucket, storage.ListBuckets, storage.DeleteBucket),
		taggedKind(c, storage.Snapshots(c)),
		taggedKind(c, storage.Volumes(c)),
		infra.ListedOf(c, mark.KindRole, identity.ListRoles, identity.DeleteRole),
		infra.ListedOf(c, mark.KindProfile, identity.ListProfiles, identity.DeleteProfile),
	}
}

func networkKinds(c *mark.Cluster) infra.Inventory {
	return infra.ListApart(
		taggedKind(c, network.VPCs(c)),
		taggedKind(c, network.Gateways(c)),
		taggedKind(c, network.Subnets(c)),
		taggedKind(c, network.Groups(c)),
		taggedKind(c, network.RouteTables(c)),
		taggedKind(c, network.Endpoints(c)),
		infra.ListedOf(c, mark.KindRules, network.ListRules, network.CloseRules),
		taggedKind(c, network.Addresses(c)),
		taggedKind(c, network.Interfaces(c)),
	)
}

func machineKinds(c *mark.Cluster) infra.Inventory {
	return infra.Inventory{
		taggedKind(c, compute.Agents(c)),
		taggedKind(c, compute.SpotRequests(c)),
		taggedKind(c, compute.Masters(c)),
		infra.ListedOf(c, mark.KindAssociation, network.ListAssociations, network.Disassociate),
		infra.ListedOf(c, mark.KindAttachment, compute.ListAttachments, compute.DetachVolume),
	}
}

// Kinds lists the name of every kind, those that others need first.
func (Objects) Kinds() []string { return resourceKinds(new(mark.Cluster)).Kinds() }

// taggedKind is a kind of EC2's objects that carry tags.
func taggedKind[T any](c *mark.Cluster, k infra.Kind[T]) infra.Listed {
	return infra.Listed{Kind: k.Name, List: mark.Inventory(c, k), Remove: k.Delete}
}

// Inventory lists everything that carries the mark of a cluster, which may be another
// than t's in the same account.
func (t Objects) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	of := *t.Cluster
	of.ID = cluster
	all, err := resourceKinds(&of).List(ctx)
	if err != nil {
		return nil, err
	}
	return t.ReleaseSecrets(all), nil
}

// Remove deletes one object of the inventory. What holds it up and is on its way out is
// waited for. That it is gone already is fine.
func (t Objects) Remove(ctx context.Context, f resource.Found) error {
	return resourceKinds(t.Cluster).Remove(ctx, f)
}
