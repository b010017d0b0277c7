package fleet

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
)

// Console implements cloud.Console: the end of what a machine wrote on its first serial
// port, as far as Google still has it.
func (f *Fleet) Console(ctx context.Context, id cloud.InstanceID) (string, error) {
	zones, err := f.findZones(ctx, []cloud.InstanceID{id})
	if err != nil {
		return "", err
	}
	if zones[id] == "" {
		return "", &cloud.Error{Kind: cloud.NotFound, Op: "compute.instances.getSerialPortOutput", Err: errors.New("the pool has no machine " + string(id))}
	}
	out, err := f.clients.Machines.SerialPort(ctx, zones[id]+"/"+string(id), 0)
	if err != nil {
		return "", err
	}
	return cloud.TailConsole(out.Contents), nil
}
