package mark

import (
	"context"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// Grow has something made larger by a call that Google refuses when it has that size already. The call
// is one of those that may be made again after their answer was lost: what has grown meanwhile is no
// error.
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

// GrowDisk makes a disk larger. What is on it does not notice.
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
