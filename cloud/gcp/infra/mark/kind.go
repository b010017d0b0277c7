package mark

import (
	"context"
	"errors"
	"path"
	"sync"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// The kinds of a cluster's objects in the inventory.
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

// ResourceID returns the ID of a resource in plans.
func ResourceID(kind, name string) string { return kindPrefix + kind + "/" + name }

// Calls holds the calls on one kind of objects, each by identity.
type Calls[T any] struct {
	Get    func(ctx context.Context, identity string) (*T, error)
	Delete func(ctx context.Context, identity string) error
	// List returns the objects that match a filter, and possibly others. It returns an error if a
	// zone is missing.
	List func(ctx context.Context, filter string) ([]*T, error)
}

// Kind is a kind of Google Cloud objects: all objects of a cluster, and any one by name.
type Kind[T any] struct {
	infra.Kind[*T]

	of Calls[T]
}

// KindOf returns the kind of objects with the given calls.
func KindOf[T any](c *Cluster, name, filter string, of Calls[T], observe func(*T) infra.Observed) Kind[T] {
	return Kind[T]{of: of, Kind: infra.Kind[*T]{
		Name: name, Observe: observe,
		List: func(ctx context.Context, _ map[string]string) ([]*T, error) { return of.List(ctx, filter) },
		Delete: func(ctx context.Context, identity string) error {
			return c.Waiter().RetryWhileHeld(ctx, identity, c.lookUpHolder, func() error { return of.Delete(ctx, identity) })
		},
	}}
}

// LabelFilter returns the list filter for the cluster's objects with labels.
func (c *Cluster) LabelFilter() string { return "labels." + ClusterLabel + "=" + c.ID }

// Inventory returns a function that lists all objects of one kind of the cluster. A list may still
// show deleted objects, and names are reused: an object that was re-created in the meantime would
// be deleted under its name. Each object is therefore looked up again, except agents, whose names
// are used only once.
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

// Define returns the definition common to all Compute Engine resources. The resource is the object
// of that name if it carries the cluster's mark; another object is never modified. It needs the
// resources among refs.
func Define[T any](c *Cluster, k Kind[T], name string, learned *infra.Learned, refs ...infra.Ref) infra.Definition[*T] {
	d := define(k, c.FullName(name), learned, refs)
	if name == "" {
		name = "main"
	}
	d.ID, d.Owner, d.Found, d.Adopts = ResourceID(k.Name, name), c.Owned(), c.Found, c.Adopts
	return d
}

// Zonal returns the identity of a zonal object of the cluster.
func (c *Cluster) Zonal(zone, name string) string { return zone + "/" + c.FullName(name) }

// Zoned is the zone and the name of a zonal object.
type Zoned struct{ Zone, Name string }

// DefineZonal is like Define for a zonal object. It also finds an object of the same name in
// another zone, which is reported as drift of the zone.
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

// listElsewhere returns the objects of a name in all zones. A list may still show deleted objects,
// so each one is looked up again.
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

// Named is the short name of a resource and the identity of its object.
type Named struct{ Name, Identity string }

// DefineAs is like Define for an object whose name does not follow the scheme of Compute Engine
// objects.
func DefineAs[T any](c *Cluster, k Kind[T], as Named, learned *infra.Learned, refs ...infra.Ref) infra.Definition[*T] {
	d := define(k, as.Identity, learned, refs)
	d.ID, d.Owner, d.Found, d.Adopts = ResourceID(k.Name, as.Name), c.Owned(), c.Found, c.Adopts
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

// Insert creates an object under its name. It repeats the call while Google rejects it because an
// object of that name is being deleted or a dependency is not ready.
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

// Unmarked returns the error for an object with a name of the cluster and without the mark of any.
func Unmarked(c *Cluster, subject string) error { return unmarked(subject, c.Owned()) }

func unmarked(subject string, owner map[string]string) error {
	return &cloud.Error{
		Kind: cloud.Conflict, Resource: subject, Err: errors.New("does not belong to the cluster: it does not carry the mark " + ClusterLabel),
		Fix: "choose another --cluster-id; or, if it is the cluster's, set its label " + ClusterLabel + " to " + owner[ClusterLabel] +
			", or the first line of its description to " + ClusterLabel + "=" + owner[ClusterLabel],
	}
}

// lookForOwn finds the object of that name created by a call whose response was lost. It returns an
// error if the object does not belong to the cluster.
func lookForOwn[T any](ctx context.Context, d infra.Definition[T], identity string) (found bool, err error) {
	all, err := d.Kind.List(ctx, d.Owner)
	if err != nil {
		return false, err
	}
	for _, live := range all {
		o := d.Kind.Observe(live)
		switch {
		case len(infra.MarkDrift(o.Marks, d.Owner)) == 0:
		case o.Marks[ClusterLabel] == "":
			return false, unmarked(d.Kind.Name+" "+identity, d.Owner)
		default:
			return false, infra.Foreign("", d.Kind.Name+" "+identity, "it does not carry the mark "+ClusterLabel)
		}
		found = found || !o.Deleting
	}
	return found, nil
}
