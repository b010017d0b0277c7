package storage

import (
	"context"
	"fmt"
	"path"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// failed is the status of a snapshot that was not completed.
const failed = "FAILED"

// Keep creates a snapshot of a disk of the cluster or the user, once, and returns its location. It
// replaces one that failed. Disk has the form "us-central1-a/det-lab-data". Name identifies the operation that follows:
// "before-3".
func Keep(ctx context.Context, c *mark.Cluster, disk, name string) (where string, err error) {
	full := c.FullName(name)
	err = insertSnapshot(ctx, c, disk, name)
	if kind := cloud.KindOf(err); kind != cloud.Conflict && kind != cloud.Ambiguous {
		return full, err
	}
	live, lookErr := api.Do(ctx, c.Clients.Compute.Snapshots.Get(c.Clients.Project, full))
	switch {
	case lookErr != nil:
		return "", lookErr
	case len(infra.MarkDrift(live.Labels, c.Owned())) > 0:
		return "", infra.Foreign("", "snapshot "+full, "it does not carry the label "+mark.ClusterLabel)
	case live.Status != failed:
		return full, nil
	}
	if err := Snapshots(c).Delete(ctx, full); err != nil {
		return "", fmt.Errorf("remove the failed snapshot %s: %w", full, err)
	}
	return full, insertSnapshot(ctx, c, disk, name)
}

// insertSnapshot creates a snapshot and waits until it is complete.
func insertSnapshot(ctx context.Context, c *mark.Cluster, disk, name string) error {
	zone, source := path.Split(disk)
	return api.Run(ctx, c.Clients, c.Clients.Compute.Snapshots.Insert(c.Clients.Project, &compute.Snapshot{
		Name: c.FullName(name), SourceDisk: "projects/" + c.Clients.Project + "/zones/" + zone + "disks/" + source,
		Labels: c.AllLabels(), Description: "det-deploy cluster " + c.ID + ": " + name,
		StorageLocations: []string{c.Clients.Region}, // by default the multi-region, which an organization policy of locations may forbid
	}))
}

// Snapshots returns the kind of the cluster's snapshots.
func Snapshots(c *mark.Cluster) mark.Kind[compute.Snapshot] {
	return mark.KindOf(c, mark.KindSnapshot, c.LabelFilter(), mark.Calls[compute.Snapshot]{
		Get: func(ctx context.Context, name string) (*compute.Snapshot, error) {
			return api.Do(ctx, c.Clients.Compute.Snapshots.Get(c.Clients.Project, name))
		},
		Delete: func(ctx context.Context, name string) error {
			return api.Run(ctx, c.Clients, c.Clients.Compute.Snapshots.Delete(c.Clients.Project, name))
		},
		List: func(ctx context.Context, filter string) ([]*compute.Snapshot, error) {
			return api.List(ctx, c.Clients.Compute.Snapshots.List(c.Clients.Project).Filter(filter), func(p *compute.SnapshotList) []*compute.Snapshot { return p.Items })
		},
	}, func(s *compute.Snapshot) infra.Observed {
		return infra.Observed{Identity: s.Name, Marks: s.Labels, Deleting: s.Status == "DELETING", Failed: s.Status == failed}
	})
}
