package hosted

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/hosted/manifests"
)

// Kinds returns the kinds in dependency order. Deletion is in reverse order, so it begins with the
// manifest, which stops the master.
func (c *Cluster) Kinds() []string {
	return slices.Concat([]string{KindProgram}, c.Marked.Kinds(), []string{KindManifest})
}

// Inventory lists everything with the cluster's mark, except the control bucket, which is deleted
// with the record. It includes the manifest unless that stops the master.
func (c *Cluster) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	var all []resource.Found
	var f resource.Found
	g, both := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		all, err = c.Marked.Inventory(both, cluster)
		return err
	})
	g.Go(func() (err error) {
		f, _, err = (&configuration{c: c, manifest: &manifests.Cache{From: c.Manifests}}).Find(both)
		return err
	})
	err := g.Wait()
	if f.Exists() {
		all = append(all, f)
	}
	return all, err
}

// Remove deletes one object of the inventory.
func (c *Cluster) Remove(ctx context.Context, f resource.Found) error {
	switch f.Kind {
	case KindManifest:
		return c.Manifests.Halt(ctx)
	case KindProgram:
		return c.Objects.Erase(ctx, f.ID)
	default:
		return c.Marked.Remove(ctx, f)
	}
}
