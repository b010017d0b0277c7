package wire

import (
	"context"
	"io"

	"github.com/det-deploy/det-deploy/agent/disk"
	"github.com/det-deploy/det-deploy/cloud/host"
	"github.com/det-deploy/det-deploy/cloud/host/volume"
)

// MountVolume attaches and mounts a data volume.
func MountVolume(ctx context.Context, v Volume, out io.Writer, terminal bool) error {
	return volume.Volume{ID: v.ID, Device: v.Device, Name: v.Name, At: v.At, Log: hostLog(out, terminal)}.Mount(ctx)
}

// DrainMachine waits for the tasks of an agent whose machine is shutting down.
func DrainMachine(ctx context.Context, dataDir string, out io.Writer, terminal bool) error {
	d := host.Drain{
		ShuttingDown: host.Systemd{}.ShuttingDown, Log: hostLog(out, terminal),
		Tasks: func() (int, error) { return disk.Count(dataDir) },
	}
	return d.Await(ctx)
}
