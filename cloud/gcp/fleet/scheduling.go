package fleet

import (
	"slices"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
)

// What Google calls things in a machine's scheduling.
const (
	modelSpot     = "SPOT"
	modelStandard = "STANDARD"
	onTerminate   = "TERMINATE"
	actionStop    = "STOP"
)

// mergeScheduling keeps what base_config says where it fits the price and the machine:
// one with GPUs cannot move to another host, and a spot machine neither that nor restart
// by itself. A spot machine that is taken back stops, so that it can be seen why.
func mergeScheduling(base *compute.Scheduling, price cloud.Price, gpus bool) *compute.Scheduling {
	out := new(compute.Scheduling)
	if base != nil {
		*out = *base
	}
	out.ForceSendFields = dropFields(out.ForceSendFields, "Preemptible", "ProvisioningModel", "OnHostMaintenance", "InstanceTerminationAction")
	spot := price == cloud.Spot
	if out.OnHostMaintenance == "" || gpus || spot {
		out.OnHostMaintenance = onTerminate
	}
	switch {
	case spot:
		restart := false
		out.ProvisioningModel, out.Preemptible, out.AutomaticRestart = modelSpot, false, &restart
		if out.InstanceTerminationAction == "" {
			out.InstanceTerminationAction = actionStop
		}
	case properties.IsSpot(base): // the pool falls back on on-demand machines
		out.ProvisioningModel, out.Preemptible = modelStandard, false
		if out.MaxRunDuration == nil && out.TerminationTime == "" {
			out.InstanceTerminationAction = ""
		}
	}
	return out
}

// dropFields removes fields whose value is decided here.
func dropFields(sent []string, fields ...string) []string {
	return slices.DeleteFunc(slices.Clone(sent), func(f string) bool { return slices.Contains(fields, f) })
}
