package fleet

import (
	"slices"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
)

// Google's names in the scheduling of an instance.
const (
	modelSpot     = "SPOT"
	modelStandard = "STANDARD"
	onTerminate   = "TERMINATE"
	actionStop    = "STOP"
)

// mergeScheduling merges base_config with the requirements of the pricing model and the machine:
// instances with GPUs cannot be live-migrated, and Spot VMs can neither be migrated nor restarted
// automatically. A preempted Spot VM is stopped and not deleted, so that the reason can be read.
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
	case properties.IsSpot(base): // the pool falls back to on-demand instances
		out.ProvisioningModel, out.Preemptible = modelStandard, false
		if out.MaxRunDuration == nil && out.TerminationTime == "" {
			out.InstanceTerminationAction = ""
		}
	}
	return out
}

// dropFields removes fields whose value is determined by the pool.
func dropFields(sent []string, fields ...string) []string {
	return slices.DeleteFunc(slices.Clone(sent), func(f string) bool { return slices.Contains(fields, f) })
}
