package api

import (
	"context"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Machines are the calls of a pool's machines beside those of Instances.
type Machines struct {
	// Launch begins to make a machine. What it returns waits for the end: a refusal for
	// want of machines comes then.
	Launch func(ctx context.Context, zone string, in *compute.Instance) (await func(context.Context) error, err error)
	// SerialPort is what a machine wrote on its first serial port from start on.
	SerialPort func(ctx context.Context, name string, start int64) (*compute.SerialPortOutput, error)
	// GuestAttribute is what a machine itself wrote below a key: "namespace/key".
	GuestAttribute func(ctx context.Context, name, key string) (*compute.GuestAttributes, error)
	// Operations are the operations of a zone.
	Operations func(ctx context.Context, zone, filter string) ([]*compute.Operation, error)
}

func newMachines(g *gateway, s *compute.InstancesService, o *compute.ZoneOperationsService) Machines {
	return Machines{
		Launch: func(ctx context.Context, zone string, in *compute.Instance) (func(context.Context) error, error) {
			ctx, c := g.beginRepeatable(ctx, "compute.instances.insert")
			op, err := send(ctx, c, s.Insert(g.project, zone, in).RequestId(c.id).Context(ctx).Do)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) error { return c.awaitOperation(ctx, op) }, nil
		},
		SerialPort: func(ctx context.Context, name string, start int64) (*compute.SerialPortOutput, error) {
			zone, name := splitZone(name)
			ctx, c := g.begin(ctx, "compute.instances.getSerialPortOutput")
			return send(ctx, c, s.GetSerialPortOutput(g.project, zone, name).Start(start).Context(ctx).Do)
		},
		GuestAttribute: func(ctx context.Context, name, key string) (*compute.GuestAttributes, error) {
			zone, name := splitZone(name)
			ctx, c := g.begin(ctx, "compute.instances.getGuestAttributes")
			return send(ctx, c, s.GetGuestAttributes(g.project, zone, name).QueryPath(key).Context(ctx).Do)
		},
		Operations: func(ctx context.Context, zone, filter string) ([]*compute.Operation, error) {
			return readPages(func(token string) ([]*compute.Operation, string, error) {
				ctx, c := g.begin(ctx, "compute.zoneOperations.list")
				page, err := send(ctx, c, o.List(g.project, zone).Filter(filter).PageToken(token).Context(ctx).Do)
				if err != nil {
					return nil, "", err
				}
				return page.Items, page.NextPageToken, nil
			})
		},
	}
}

func machineCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("compute.instances.getSerialPortOutput"),
		edge.Reads("compute.instances.getGuestAttributes"),
		edge.Reads("compute.zoneOperations.list"),
	}
}
