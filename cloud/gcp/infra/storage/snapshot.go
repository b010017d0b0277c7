package storage

import (
	"context"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Keep copies the disk into a snapshot of the cluster's, once, and says where that is. The
// name is of what the copy precedes: "before-3".
func (d *Disk) Keep(ctx context.Context, name string) (where string, err error) {
	full := d.In.FullName(name)
	disk := "projects/" + d.In.Clients.Project + "/zones/" + d.Zone + "/disks/" + d.In.FullName(owner.DataDisk)
	err = d.In.Clients.Snapshots.Insert(ctx, &compute.Snapshot{
		Name: full, SourceDisk: disk, Labels: d.In.AllLabels(), Description: "det-deploy cluster " + d.In.ID + ": " + name,
	})
	if kind := cloud.KindOf(err); kind != cloud.Conflict && kind != cloud.Ambiguous {
		return full, err
	}
	live, lookErr := d.In.Clients.Snapshots.Get(ctx, full)
	switch {
	case lookErr != nil:
		return "", lookErr
	case len(infra.MarkDrift(live.Labels, d.In.Owned())) > 0:
		return "", infra.Foreign("", "snapshot "+full, "it does not carry the label "+owner.ClusterLabel)
	case live.Status == "FAILED":
		return "", infra.Missing("compute.snapshots.get", full)
	}
	return full, nil
}

// Snapshots are those of a cluster.
func Snapshots(c *owner.Cluster) owner.Kind[compute.Snapshot] {
	return owner.KindOf(c, owner.KindSnapshot, c.LabelFilter(), c.Clients.Snapshots.Collection, func(s *compute.Snapshot) infra.Observed {
		return infra.Observed{Identity: s.Name, Marks: s.Labels, Deleting: s.Status == "DELETING"}
	})
}
