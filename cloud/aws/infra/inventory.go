// Package infra defines a cluster's AWS resources. Each resource is a small type in the package of
// its service; this package lists and deletes them. Existing resources of the user are only
// referenced and checked, never changed or deleted.
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

// Objects lists and deletes the objects of a cluster.
type Objects struct{ *mark.Cluster }

var _ resource.Target = Objects{}

// resourceKinds returns all kinds, dependencies first. `down` deletes in reverse order:
//
//	stop the master, detach its volume and address ──▶ terminate the master, so that
//	it launches no more agents ──▶ spot requests, agents ──▶ network resources ──▶ VPC
//	        ──▶ roles ──▶ data, then its secrets ──▶ logs
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

// Kinds returns the names of all kinds, dependencies first.
func (Objects) Kinds() []string { return resourceKinds(new(mark.Cluster)).Kinds() }

// taggedKind returns the inventory entry for a kind of tagged EC2 objects.
func taggedKind[T any](c *mark.Cluster, k infra.Kind[T]) infra.Listed {
	return infra.Listed{Kind: k.Name, List: mark.Inventory(c, k), Remove: k.Delete}
}

// Inventory returns all objects with the tag of a cluster, which may be another cluster in the same
// account.
func (t Objects) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	of := *t.Cluster
	of.ID = cluster
	all, err := resourceKinds(&of).List(ctx)
	if err != nil {
		return nil, err
	}
	return t.ReleaseSecrets(all), nil
}

// Remove deletes an object of the inventory. It waits for objects in use that are being deleted,
// and returns nil if the object no longer exists.
func (t Objects) Remove(ctx context.Context, f resource.Found) error {
	return resourceKinds(t.Cluster).Remove(ctx, f)
}
