package gcp

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/gcp/log"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// openLogs returns the logs of the cluster's machines.
func (g *opened) openLogs() wire.CloudLogs {
	l := log.Log{ID: storage.LogID(g.Target.Spec.Cluster), Clients: g.free}
	return wire.CloudLogs{Name: "log " + l.ID, Read: func(instance string) wire.MachineLogs {
		return func(ctx context.Context, since time.Time, show func(string, wire.MachineLog)) error {
			return l.Read(ctx, log.Query{Since: since, Instance: instance}, func(one log.Line) {
				show(one.ID, wire.MachineLog{Time: one.Time, Instance: one.Instance, Unit: one.Unit, Message: one.Text})
			})
		}
	}}
}
