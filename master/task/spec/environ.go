package spec

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/rm"
)

// RunDir is det-deploy's directory inside a container.
const RunDir = "/run/determined"

// harnessWheel is the variable with the path of the wheel of the client's library that the cluster
// serves: /harness/<SHA-256>/<file name> below DET_MASTER, for requests with the allocation's token. It
// is unset if the cluster has no wheel.
const harnessWheel = "DET_HARNESS_WHEEL"

// resourcesType selects how the containers of one allocation reach each other: through the master.
const resourcesType = "docker-container"

// buildVariables returns the master's part of a container's environment; agents put theirs before it.
// The user's variables come last and take precedence.
func buildVariables(r Run, c rm.Container, kind apiv1.Device_Type) []string {
	out := []string{
		"DET_TASK_ID=" + string(r.Task),
		"DET_ALLOCATION_ID=" + string(r.Allocation),
		"DET_TASK_TYPE=" + r.Type,
		"DET_SESSION_TOKEN=" + string(r.Session),
		"DET_USER=" + r.Username,
		"DET_USER_TOKEN=" + string(r.UserToken),
		"DET_RESOURCES_ID=" + string(c.ID),
		"DET_RESOURCES_TYPE=" + resourcesType,
		"DET_WORKDIR=" + r.Config.WorkDir,
		"DET_RUN_DIR=" + RunDir,
		"PYTHONUSERBASE=" + RunDir + "/pythonuserbase",
		"DET_TASK_LOGGING_METADATA=" + loggingMetadata(r),
		"DET_SEGMENT_ENABLED=false",
	}
	for _, v := range []struct{ name, value string }{
		{"DET_INTER_NODE_NETWORK_INTERFACE", r.Defaults.DtrainInterface},
		{"NCCL_PORT_RANGE", r.Defaults.NCCLPortRange},
		{"GLOO_PORT_RANGE", r.Defaults.GLOOPortRange},
		{harnessWheel, r.Defaults.HarnessWheel.URLPath()},
	} {
		if v.value != "" {
			out = append(out, v.name+"="+v.value)
		}
	}
	for _, p := range r.Ports {
		out = append(out, p.Variable+"="+strconv.Itoa(p.Number))
	}
	out = append(out, r.Variables...)
	return append(out, assignedVariables(variablesFor(r.Config.Environment.Variables, kind))...)
}

// assignedVariables removes names without a value: a container keeps the value of such a variable from
// its image or its agent. Container engines would unset it, and other runtimes cannot handle it.
func assignedVariables(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(v string) bool { return !strings.Contains(v, "=") })
}

// UnassignedNames returns the names without a value, without duplicates.
func UnassignedNames(e container.Environment) []string {
	names := slices.DeleteFunc(slices.Concat(e.CPU, e.CUDA, e.ROCm), func(v string) bool { return strings.Contains(v, "=") })
	slices.Sort(names)
	return slices.Compact(names)
}

func loggingMetadata(r Run) string {
	data, err := json.Marshal(map[string]string{"task_id": string(r.Task), "allocation_id": string(r.Allocation)})
	if err != nil { // unreachable for two strings
		panic(err)
	}
	return string(data)
}

func variablesFor(e container.Environment, t apiv1.Device_Type) []string {
	switch t {
	case apiv1.Device_TYPE_CUDA:
		return e.CUDA
	case apiv1.Device_TYPE_ROCM:
		return e.ROCm
	default:
		return e.CPU
	}
}
