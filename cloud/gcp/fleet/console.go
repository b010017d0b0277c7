package fleet

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// Console implements cloud.Console. It returns the end of the output on the first serial port, as
// far as Google retains it.
func (f *Fleet) Console(ctx context.Context, id cloud.InstanceID) (string, error) {
	zones, err := f.findZones(ctx, []cloud.InstanceID{id})
	if err != nil {
		return "", err
	}
	if zones[id] == "" {
		return "", &cloud.Error{Kind: cloud.NotFound, Op: "compute.instances.getSerialPortOutput", Err: errors.New("the pool has no machine " + string(id))}
	}
	out, err := api.Do(ctx, f.clients.Compute.Instances.GetSerialPortOutput(f.clients.Project, zones[id], string(id)))
	if err != nil {
		return "", err
	}
	return cloud.TailConsole(out.Contents), nil
}
