package mark

import (
	"context"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// Grow enlarges an object by a call that Google rejects if the object already has the size. The
// call may be repeated after a lost response: it returns nil if the object has grown in the
// meantime.
func Grow(call func() error, hasGrown func() (bool, error)) error {
	err := call()
	if err == nil {
		return nil
	}
	if grown, lookErr := hasGrown(); lookErr == nil && grown {
		return nil
	}
	return err
}

// GrowDisk enlarges a disk. Its content is not affected.
func GrowDisk(ctx context.Context, c *Cluster, identity string, gb int64) error {
	disks := c.Clients.Compute.Disks
	zone, name := api.SplitZone(identity)
	return Grow(func() error {
		return api.Run(ctx, c.Clients, disks.Resize(c.Clients.Project, zone, name, &compute.DisksResizeRequest{SizeGb: gb}))
	}, func() (bool, error) {
		live, err := api.Do(ctx, disks.Get(c.Clients.Project, zone, name))
		return err == nil && live.SizeGb >= gb, err
	})
}
