package mark

import (
	"context"
	"path"
	"sync"

	"github.com/det-deploy/det-deploy/cloud"
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
	KindDisk       = "disk"
	KindAccount    = "service-account"
	KindRole       = "role"
	KindBinding    = "role-binding"
	KindSnapshot   = "snapshot"
	KindBucket     = "bucket"
	KindSecret     = "secret"
	KindLog        = "log"
	KindInstance   = "instance"
	KindAgent      = "agent"
	kindPrefix     = "gcp/"
)

// ResourceID is how a resource of a cluster is called in plans.
func ResourceID(kind, name string) string { return kindPrefix + kind + "/" + name }

// Calls are the calls of one kind of Google's objects, each by its identity.
type Calls[T any] struct {
	Get    func(ctx context.Context, identity string) (*T, error)
	Delete func(ctx context.Context, identity string) error
	// List lists those that a filter lets through, which may be more than it says. One that
	// cannot see every zone is an error.
	List func(ctx context.Context, filter string) ([]*T, error)
}

// Kind is one kind of Google's objects: all those of a cluster, and any by its name.
type Kind[T any] struct {
	infra.Kind[*T]

	of Calls[T]
}

// KindOf is the kind of the objects of some calls.
func KindOf[T any](c *Cluster, name, filter string, of Calls[T], observe func(*T) infra.Observed) Kind[T] {
	return Kind[T]{of: of, Kind: infra.Kind[*T]{
		Name: name, Observe: observe,
		List: func(ctx context.Context, _ map[string]string) ([]*T, error) { return of.List(ctx, filter) },
		Delete: func(ctx context.Context, identity string) error {
			return c.Waiter().RetryWhileHeld(ctx, identity, lookUpHolder, func() error { return of.Delete(ctx, identity) })
		},
	}}
}

// LabelFilter is what a list of objects with labels is asked for.
func (c *Cluster) LabelFilter() string { return "labels." + ClusterLabel + "=" + c.ID }

// Inventory lists everything of one kind that is the cluster's. A list may still show what
// is gone, and names are used again: taken for a remnant, an object that was made meanwhile
// would be removed under its name. So each is asked for, but for agents, whose names are
// used once.
func Inventory[T any](c *Cluster, k Kind[T]) func(context.Context) ([]resource.Found, error) {
	return func(ctx context.Context) ([]resource.Found, error) {
		listed, err := k.Founds(ctx, c.Owned(), c.Found)
		if err != nil || k.Name == KindAgent {
			return listed, err
		}
		return KeepPresent(listed, func(f resource.Found) error {
			_, err := k.of.Get(ctx, f.ID)
			return err
		})
	}
}

// Define is what all resources of Compute Engine have in common. The resource is the
// object of that name, if it is marked as the cluster's: another one is never touched. It
// needs those of refs that are resources.
func Define[T any](c *Cluster, k Kind[T], name string, learned *infra.Learned, refs ...infra.Ref) infra.Definition[*T] {
	d := define(k, c.FullName(name), learned, refs)
	if name == "" {
		name = "main"
	}
	d.ID, d.Owner, d.Found = ResourceID(k.Name, name), c.Owned(), c.Found
	return d
}

// Zonal is the identity of something of the cluster's that is in a zone.
func (c *Cluster) Zonal(zone, name string) string { return zone + "/" + c.FullName(name) }

// Zoned is where something is in a zone, and its name.
type Zoned struct{ Zone, Name string }

// DefineZonal is Define for something that is in a zone. One of its name in another zone
// is it too: what it is compared with says that it is in the wrong one.
func DefineZonal[T any](c *Cluster, k Kind[T], at Zoned, learned *infra.Learned, refs ...infra.Ref) infra.Definition[*T] {
	d := DefineAs(c, k, Named{at.Name, c.Zonal(at.Zone, at.Name)}, learned, refs...)
	inZone := d.Kind.List
	d.Kind.List = func(ctx context.Context, marks map[string]string) ([]*T, error) {
		var here, elsewhere []*T
		var hereErr, elsewhereErr error
		var asked sync.WaitGroup
		asked.Go(func() { here, hereErr = inZone(ctx, marks) })
		asked.Go(func() { elsewhere, elsewhereErr = k.listElsewhere(ctx, c.FullName(at.Name)) })
		asked.Wait()
		if hereErr != nil || len(here) > 0 {
			return here, hereErr
		}
		return elsewhere, elsewhereErr
	}
	return d
}

// listElsewhere lists the objects of a name in all zones. A list may still show one that
// is gone, and so each is asked for.
func (k Kind[T]) listElsewhere(ctx context.Context, name string) ([]*T, error) {
	listed, err := k.of.List(ctx, "name="+name)
	if err != nil {
		return nil, err
	}
	var out []*T
	for _, item := range listed {
		identity := k.Observe(item).Identity
		if path.Base(identity) != name {
			continue
		}
		live, err := k.of.Get(ctx, identity)
		if err == nil {
			out = append(out, live)
		} else if infra.IgnoreMissing(err) != nil {
			return nil, err
		}
	}
	return out, nil
}

// Named is the short name of a resource, and what Google calls its object.
type Named struct{ Name, Identity string }

// DefineAs is Define for something whose name is not made as those of Compute Engine are.
func DefineAs[T any](c *Cluster, k Kind[T], as Named, learned *infra.Learned, refs ...infra.Ref) infra.Definition[*T] {
	d := define(k, as.Identity, learned, refs)
	d.ID, d.Owner, d.Found = ResourceID(k.Name, as.Name), c.Owned(), c.Found
	return d
}

func define[T any](k Kind[T], identity string, learned *infra.Learned, refs []infra.Ref) infra.Definition[*T] {
	k.List = func(ctx context.Context, _ map[string]string) ([]*T, error) {
		live, err := k.of.Get(ctx, identity)
		if err != nil {
			return nil, infra.IgnoreMissing(err)
		}
		return []*T{live}, nil
	}
	return infra.Definition[*T]{Kind: k.Kind, Needs: infra.NeedsOf(refs...), Needed: refs, Identity: learned}
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
