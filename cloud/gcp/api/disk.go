package api

import (
	"context"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Disks are the disks of all zones.
type Disks struct {
	Collection[compute.Disk]

	Insert    func(ctx context.Context, zone string, in *compute.Disk) error
	Resize    func(ctx context.Context, name string, in *compute.DisksResizeRequest) error
	SetLabels func(ctx context.Context, name string, in *compute.ZoneSetLabelsRequest) error
}

func newDisks(g *gateway, s *compute.DisksService) Disks {
	return Disks{
		Collection: Collection[compute.Disk]{
			Get: func(ctx context.Context, name string) (*compute.Disk, error) {
				zone, name := splitZone(name)
				ctx, c := g.begin(ctx, "compute.disks.get")
				return send(ctx, c, s.Get(g.project, zone, name).Context(ctx).Do)
			},
			Delete: func(ctx context.Context, name string) error {
				zone, name := splitZone(name)
				ctx, c := g.beginRepeatable(ctx, "compute.disks.delete")
				return operate(ctx, c, s.Delete(g.project, zone, name).RequestId(c.id).Context(ctx).Do)
			},
			List: func(ctx context.Context, filter string) ([]*compute.Disk, error) {
				return readPages(func(token string) ([]*compute.Disk, string, error) {
					ctx, c := g.begin(ctx, "compute.disks.aggregatedList")
					page, err := send(ctx, c, s.AggregatedList(g.project).Filter(filter).PageToken(token).Context(ctx).Do)
					if err != nil {
						return nil, "", err
					}
					var items []*compute.Disk
					for scope, in := range page.Items {
						if in.Warning != nil {
							page.Unreachables = appendUnreachable(page.Unreachables, scope, in.Warning.Code)
						}
						items = append(items, in.Disks...)
					}
					return items, page.NextPageToken, c.checkWhole(page.Unreachables)
				})
			},
		},
		Insert: func(ctx context.Context, zone string, in *compute.Disk) error {
			ctx, c := g.beginRepeatable(ctx, "compute.disks.insert")
			return operate(ctx, c, s.Insert(g.project, zone, in).RequestId(c.id).Context(ctx).Do)
		},
		Resize: func(ctx context.Context, name string, in *compute.DisksResizeRequest) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.disks.resize")
			return operate(ctx, c, s.Resize(g.project, zone, name, in).RequestId(c.id).Context(ctx).Do)
		},
		SetLabels: func(ctx context.Context, name string, in *compute.ZoneSetLabelsRequest) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.disks.setLabels")
			return operate(ctx, c, s.SetLabels(g.project, zone, name, in).RequestId(c.id).Context(ctx).Do)
		},
	}
}

// Snapshots are the snapshots of the project.
type Snapshots struct {
	Collection[compute.Snapshot]

	Insert    func(ctx context.Context, in *compute.Snapshot) error
	SetLabels func(ctx context.Context, name string, in *compute.GlobalSetLabelsRequest) error
}

func newSnapshots(g *gateway, s *compute.SnapshotsService) Snapshots {
	return Snapshots{
		Collection: Collection[compute.Snapshot]{
			Get: func(ctx context.Context, name string) (*compute.Snapshot, error) {
				ctx, c := g.begin(ctx, "compute.snapshots.get")
				return send(ctx, c, s.Get(g.project, name).Context(ctx).Do)
			},
			Delete: func(ctx context.Context, name string) error {
				ctx, c := g.beginRepeatable(ctx, "compute.snapshots.delete")
				return operate(ctx, c, s.Delete(g.project, name).RequestId(c.id).Context(ctx).Do)
			},
			List: func(ctx context.Context, filter string) ([]*compute.Snapshot, error) {
				return readPages(func(token string) ([]*compute.Snapshot, string, error) {
					ctx, c := g.begin(ctx, "compute.snapshots.list")
					page, err := send(ctx, c, s.List(g.project).Filter(filter).PageToken(token).Context(ctx).Do)
					if err != nil {
						return nil, "", err
					}
					return page.Items, page.NextPageToken, nil
				})
			},
		},
		Insert: func(ctx context.Context, in *compute.Snapshot) error {
			ctx, c := g.beginRepeatable(ctx, "compute.snapshots.insert")
			return operate(ctx, c, s.Insert(g.project, in).RequestId(c.id).Context(ctx).Do)
		},
		SetLabels: func(ctx context.Context, name string, in *compute.GlobalSetLabelsRequest) error {
			ctx, c := g.begin(ctx, "compute.snapshots.setLabels")
			return operate(ctx, c, s.SetLabels(g.project, name, in).Context(ctx).Do)
		},
	}
}

func diskCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("compute.disks.get"),
		edge.Reads("compute.disks.aggregatedList", "compute.disks.list"),
		// A disk may be made from a snapshot.
		edge.Writes("compute.disks.insert", "compute.disks.create", "compute.disks.setLabels", "compute.snapshots.useReadOnly"),
		edge.Writes("compute.disks.delete"),
		edge.Writes("compute.disks.resize"),
		edge.Writes("compute.disks.setLabels"),
		edge.Reads("compute.snapshots.get"),
		edge.Reads("compute.snapshots.list"),
		edge.Writes("compute.snapshots.insert", "compute.snapshots.create", "compute.snapshots.setLabels", "compute.disks.createSnapshot"),
		edge.Writes("compute.snapshots.delete"),
		edge.Writes("compute.snapshots.setLabels"),
	}
}
