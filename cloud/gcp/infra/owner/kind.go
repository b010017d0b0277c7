package owner

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// The kinds of things that a cluster consists of, as the inventory lists them.
const (
	KindNetwork    = "network"
	KindSubnetwork = "subnetwork"
	KindFirewall   = "firewall-rule"
	KindRouter     = "router"
	KindAddress    = "address"
	kindPrefix     = "gcp/"
)

// ResourceID is how a resource of a cluster is called in plans.
func ResourceID(kind, name string) string { return kindPrefix + kind + "/" + name }

// Kind is one kind of Compute Engine's objects: all those of a cluster.
func Kind[T any](c *Cluster, name, filter string, of api.Collection[T], observe func(*T) infra.Observed) infra.Kind[*T] {
	return infra.Kind[*T]{
		Name: name, Observe: observe,
		List: func(ctx context.Context, _ map[string]string) ([]*T, error) { return of.List(ctx, filter) },
		Delete: func(ctx context.Context, identity string) error {
			return c.Waiter().RetryWhileInUse(ctx, identity, func() error { return of.Delete(ctx, identity) })
		},
	}
}

// LabelFilter is what a list of objects with labels is asked for.
func (c *Cluster) LabelFilter() string { return "labels." + ClusterLabel + "=" + c.ID }

// Inventory lists everything of one kind that is the cluster's.
func Inventory[T any](c *Cluster, k infra.Kind[T]) func(context.Context) ([]resource.Found, error) {
	return func(ctx context.Context) ([]resource.Found, error) { return k.Founds(ctx, c.Owned(), c.Found) }
}

// Define is what all resources of Compute Engine have in common. The resource is the
// object of that name, if it is marked as the cluster's: another one is never touched. It
// needs those of refs that are resources.
func Define[T any](c *Cluster, k infra.Kind[*T], of api.Collection[T], name string, learned *infra.Learned, refs ...infra.Ref) infra.Definition[*T] {
	full := c.FullName(name)
	k.List = func(ctx context.Context, _ map[string]string) ([]*T, error) {
		live, err := of.Get(ctx, full)
		if err != nil {
			return nil, infra.IgnoreMissing(err)
		}
		return []*T{live}, nil
	}
	if name == "" {
		name = "main"
	}
	return infra.Definition[*T]{
		Kind: k, ID: ResourceID(k.Name, name), Needs: infra.NeedsOf(refs...), Needed: refs,
		Owner: c.Owned(), Identity: learned, Found: c.Found,
	}
}

// Insert has an object made under its name. As long as an object of that name is on its
// way out, or what it needs is not ready, Google refuses; then it is tried again.
func Insert[T any](ctx context.Context, c *Cluster, d infra.Definition[T], identity string, insert func() error) error {
	var foreign error
	err := c.Waiter().RetryOn(ctx, d.ID, infra.ToAppear, cloud.Conflict, func() error {
		err := c.Waiter().RetryUntilKnown(ctx, d.ID, insert)
		if cloud.KindOf(err) != cloud.Conflict {
			return err
		}
		found, lookErr := lookForOwn(ctx, d, identity)
		switch {
		case cloud.KindOf(lookErr) == cloud.Conflict:
			foreign = lookErr
			return nil
		case found || lookErr != nil:
			return lookErr
		}
		return err
	})
	if foreign != nil {
		return foreign
	}
	if err == nil {
		d.Identity.Learn(identity)
	}
	return err
}

// lookForOwn finds the object of that name that a call made whose reply was lost. It
// refuses one that is not the cluster's.
func lookForOwn[T any](ctx context.Context, d infra.Definition[T], identity string) (found bool, err error) {
	all, err := d.Kind.List(ctx, d.Owner)
	if err != nil {
		return false, err
	}
	for _, live := range all {
		o := d.Kind.Observe(live)
		if len(infra.MarkDrift(o.Marks, d.Owner)) > 0 {
			return false, infra.Foreign("", d.Kind.Name+" "+identity, "it does not carry the mark "+ClusterLabel)
		}
		found = found || !o.Deleting
	}
	return found, nil
}
