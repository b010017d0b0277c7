package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Instances are the machines of all zones.
type Instances struct {
	Collection[compute.Instance]

	Insert                func(ctx context.Context, zone string, in *compute.Instance) error
	Terminate             func(ctx context.Context, name string) error
	Start                 func(ctx context.Context, name string) error
	Stop                  func(ctx context.Context, name string) error
	SetLabels             func(ctx context.Context, name string, in *compute.InstancesSetLabelsRequest) error
	SetMetadata           func(ctx context.Context, name string, in *compute.Metadata) error
	SetTags               func(ctx context.Context, name string, in *compute.Tags) error
	SetMachineType        func(ctx context.Context, name string, in *compute.InstancesSetMachineTypeRequest) error
	SetServiceAccount     func(ctx context.Context, name string, in *compute.InstancesSetServiceAccountRequest) error
	SetDeletionProtection func(ctx context.Context, name string, in bool) error
	AttachDisk            func(ctx context.Context, name string, in *compute.AttachedDisk) error
	DetachDisk            func(ctx context.Context, name string, in string) error
}

func newInstances(g *gateway, s *compute.InstancesService) Instances {
	return Instances{
		Collection: Collection[compute.Instance]{
			Get: func(ctx context.Context, name string) (*compute.Instance, error) {
				zone, name := splitZone(name)
				ctx, c := g.begin(ctx, "compute.instances.get")
				return send(ctx, c, s.Get(g.project, zone, name).Context(ctx).Do)
			},
			Delete: func(ctx context.Context, name string) error {
				zone, name := splitZone(name)
				ctx, c := g.beginRepeatable(ctx, "compute.instances.delete")
				return operate(ctx, c, s.Delete(g.project, zone, name).RequestId(c.id).Context(ctx).Do)
			},
			List: func(ctx context.Context, filter string) ([]*compute.Instance, error) {
				return readPages(func(token string) ([]*compute.Instance, string, error) {
					ctx, c := g.begin(ctx, "compute.instances.aggregatedList")
					page, err := send(ctx, c, s.AggregatedList(g.project).Filter(filter).PageToken(token).Context(ctx).Do)
					if err != nil {
						return nil, "", err
					}
					var items []*compute.Instance
					for scope, in := range page.Items {
						if in.Warning != nil {
							page.Unreachables = appendUnreachable(page.Unreachables, scope, in.Warning.Code)
						}
						items = append(items, in.Instances...)
					}
					return items, page.NextPageToken, c.checkWhole(page.Unreachables)
				})
			},
		},
		Insert: func(ctx context.Context, zone string, in *compute.Instance) error {
			ctx, c := g.beginRepeatable(ctx, "compute.instances.insert")
			return operate(ctx, c, s.Insert(g.project, zone, in).RequestId(c.id).Context(ctx).Do)
		},
		Terminate: func(ctx context.Context, name string) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.delete")
			return startOperation(ctx, c, s.Delete(g.project, zone, name).RequestId(c.id).Context(ctx).Do)
		},
		Start: func(ctx context.Context, name string) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.start")
			return operate(ctx, c, s.Start(g.project, zone, name).RequestId(c.id).Context(ctx).Do)
		},
		Stop: func(ctx context.Context, name string) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.stop")
			return operate(ctx, c, s.Stop(g.project, zone, name).RequestId(c.id).Context(ctx).Do)
		},
		SetLabels: func(ctx context.Context, name string, in *compute.InstancesSetLabelsRequest) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.setLabels")
			return operate(ctx, c, s.SetLabels(g.project, zone, name, in).RequestId(c.id).Context(ctx).Do)
		},
		SetMetadata: func(ctx context.Context, name string, in *compute.Metadata) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.setMetadata")
			return operate(ctx, c, s.SetMetadata(g.project, zone, name, in).RequestId(c.id).Context(ctx).Do)
		},
		SetTags: func(ctx context.Context, name string, in *compute.Tags) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.setTags")
			return operate(ctx, c, s.SetTags(g.project, zone, name, in).RequestId(c.id).Context(ctx).Do)
		},
		SetMachineType: func(ctx context.Context, name string, in *compute.InstancesSetMachineTypeRequest) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.setMachineType")
			return operate(ctx, c, s.SetMachineType(g.project, zone, name, in).RequestId(c.id).Context(ctx).Do)
		},
		SetServiceAccount: func(ctx context.Context, name string, in *compute.InstancesSetServiceAccountRequest) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.setServiceAccount")
			return operate(ctx, c, s.SetServiceAccount(g.project, zone, name, in).RequestId(c.id).Context(ctx).Do)
		},
		SetDeletionProtection: func(ctx context.Context, name string, in bool) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.setDeletionProtection")
			return operate(ctx, c, s.SetDeletionProtection(g.project, zone, name).DeletionProtection(in).RequestId(c.id).Context(ctx).Do)
		},
		AttachDisk: func(ctx context.Context, name string, in *compute.AttachedDisk) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.attachDisk")
			return operate(ctx, c, s.AttachDisk(g.project, zone, name, in).RequestId(c.id).Context(ctx).Do)
		},
		DetachDisk: func(ctx context.Context, name string, in string) error {
			zone, name := splitZone(name)
			ctx, c := g.beginRepeatable(ctx, "compute.instances.detachDisk")
			return operate(ctx, c, s.DetachDisk(g.project, zone, name, in).RequestId(c.id).Context(ctx).Do)
		},
	}
}

// splitZone splits the name of something that is in a zone.
func splitZone(place string) (zone, name string) {
	zone, name, _ = strings.Cut(place, "/")
	return zone, name
}

// unreachable is the warning that a list says nothing of a zone.
const unreachable = "UNREACHABLE"

func appendUnreachable(zones []string, scope, warning string) []string {
	if warning != unreachable {
		return zones // NO_RESULTS_ON_PAGE, in most zones
	}
	return append(zones, scope)
}

// checkWhole refuses a list in which zones are missing, so that nothing is taken for gone.
func (c *call) checkWhole(missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return &cloud.Error{Kind: cloud.Unavailable, Op: c.op, Err: fmt.Errorf("the list lacks %s, which Google cannot reach", strings.Join(slices.Compact(missing), ", "))}
}

func instanceCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("compute.instances.get"),
		edge.Reads("compute.instances.aggregatedList", "compute.instances.list"),
		edge.Writes("compute.instances.insert",
			"compute.instances.create", "compute.instances.setMetadata", "compute.instances.setTags", "compute.instances.setLabels",
			"compute.instances.setServiceAccount", "compute.instances.setDeletionProtection", "compute.disks.create", "compute.disks.use",
			"compute.disks.useReadOnly", "compute.disks.setLabels", "compute.subnetworks.use", "compute.subnetworks.useExternalIp",
			"compute.networks.use", "compute.networks.useExternalIp", // of a pool that names no subnetwork
			"compute.addresses.use", "compute.images.useReadOnly", "compute.snapshots.useReadOnly", "iam.serviceAccounts.actAs"),
		edge.Writes("compute.instances.delete"),
		edge.Writes("compute.instances.start"),
		edge.Writes("compute.instances.stop"),
		edge.Writes("compute.instances.setLabels"),
		edge.Writes("compute.instances.setMetadata"),
		edge.Writes("compute.instances.setTags"),
		edge.Writes("compute.instances.setMachineType"),
		edge.Writes("compute.instances.setServiceAccount", "compute.instances.setServiceAccount", "iam.serviceAccounts.actAs"),
		edge.Writes("compute.instances.setDeletionProtection"),
		edge.Writes("compute.instances.attachDisk", "compute.instances.attachDisk", "compute.disks.use"),
		edge.Writes("compute.instances.detachDisk"),
	}
}
