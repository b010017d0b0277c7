package helm

import (
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// renamedKeys maps settings of master.yaml to values with other names; the longest prefix wins. All
// other values have the same name in camel case.
func renamedKeys() [][2]string {
	return [][2]string{
		{"log.level", "logLevel"},
		{"log.color", "logColor"},
		{"db.host", "db.hostAddress"},
		{"checkpoint_storage.access_key", "checkpointStorage.accessKey"},
		{"checkpoint_storage.connection_string", "checkpointStorage.connection_string"},
		{"checkpoint_storage.account_url", "checkpointStorage.account_url"},
		{"task_container_defaults.harness_wheel.sha256", "taskContainerDefaults.harnessWheel.sha256"},
		{"resource_manager.default_aux_resource_pool", "defaultAuxResourcePool"},
		{"resource_manager.default_compute_resource_pool", "defaultComputeResourcePool"},
		{"resource_manager.default_namespace", "resourceManager.defaultNamespace"},
		{"resource_manager.cluster_name", "resourceManager.clusterName"},
		{"resource_manager.default_scheduler", "defaultScheduler"},
		{"resource_manager.determined_master_", "determinedMaster"},
		{"resource_manager.max_slots_per_pod", "maxSlotsPerPod"},
		{"resource_manager.slot_type", "slotType"},
		{"resource_manager.slot_resource", "slotResource"},
		{"resource_manager.slot_resource_requests", "slotResourceRequests"},
		{"security.initial_user_password", "initialUserPassword"},
		{"security.initial_determined_password", "initialDeterminedPassword"},
		{"security.tls", "tlsSecret"},
		{"security.default_task", "security.defaultTask"},
	}
}

// asWritten lists the values whose keys are the same as in master.yaml.
func asWritten() []string {
	return []string{"security.audit", "security.proxies", "security.limits", "observability", "logging"}
}

// podSpecs maps settings to the values that are pod specs. Their content has Kubernetes' own names.
func podSpecs() map[string]string {
	return map[string]string{
		"task_container_defaults.cpu_pod_spec":           "taskContainerDefaults.cpuPodSpec",
		"task_container_defaults.gpu_pod_spec":           "taskContainerDefaults.gpuPodSpec",
		"task_container_defaults.checkpoint_gc_pod_spec": "taskContainerDefaults.checkpointGcPodSpec",
	}
}

// valueName returns the name of the value for a setting of master.yaml. Entries of pools keep their
// names, which are the same as in master.yaml.
func valueName(path string) string {
	if rest, ok := strings.CutPrefix(path, "resource_pools"); ok {
		return "resourcePools" + rest
	}
	for setting, value := range podSpecs() {
		if rest, ok := strings.CutPrefix(path, setting); ok {
			return value + rest
		}
	}
	for _, part := range asWritten() {
		if path == part || strings.HasPrefix(path, part+".") {
			return path
		}
	}
	best := [2]string{}
	for _, n := range renamedKeys() {
		if strings.HasPrefix(path, n[0]) && len(n[0]) > len(best[0]) {
			best = n
		}
	}
	rest := camelCase(strings.TrimPrefix(path, best[0]))
	if strings.HasSuffix(best[0], "_") && rest != "" {
		rest = strings.ToUpper(rest[:1]) + rest[1:]
	}
	return best[1] + rest
}

func camelCase(path string) string {
	words := strings.Split(path, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// inValues changes the paths of problems in the document called name to those of values. Problems
// of flags and environment variables keep their paths.
func inValues(problems document.Errors, name string) document.Errors {
	for i := range problems {
		if problems[i].File == name {
			problems[i].Path = valueName(problems[i].Path)
		}
	}
	return problems
}

// asInFile removes the key under which the chart passes the values, which are at the top level of
// the user's file.
func asInFile(problems document.Errors) document.Errors {
	for i := range problems {
		problems[i].Path = strings.TrimPrefix(problems[i].Path, "values.")
		problems[i].Unread = strings.TrimPrefix(problems[i].Unread, "values.")
	}
	return problems
}
