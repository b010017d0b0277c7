package config

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// hiddenValue replaces values that may contain secrets of the user.
const hiddenValue = "‹redacted›"

// Compare returns the settings in which two configurations differ. Pools are compared by name, as in
// "resource_pools[gpu].description". Secrets are masked, and parts that may contain some are hidden.
func Compare(have, want Master) []document.Difference {
	before, after := have.ResourcePools, want.ResourcePools
	have.ResourcePools, want.ResourcePools = nil, nil
	out := document.Compare(have, want)
	for _, pool := range after {
		at := "resource_pools[" + pool.Name + "]"
		i := indexOfPool(before, pool.Name)
		if i < 0 {
			out = append(out, document.Difference{Path: at, Want: "new"})
			continue
		}
		for _, d := range document.Compare(before[i], pool) {
			d.Path = document.Join(at, d.Path)
			out = append(out, d)
		}
	}
	for _, pool := range before {
		if indexOfPool(after, pool.Name) < 0 {
			out = append(out, document.Difference{Path: "resource_pools[" + pool.Name + "]", Have: "present", Want: "removed"})
		}
	}
	for i := range out {
		out[i] = hidePrivate(out[i])
	}
	return out
}

func indexOfPool(pools []Pool, name string) int {
	return slices.IndexFunc(pools, func(p Pool) bool { return p.Name == name })
}

// privateKeys are the keys of parts that belong to the user or to another system, and may contain secrets.
func privateKeys() []string {
	return []string{
		"environment_variables", "agent_config_file_contents", "startup_script", "container_startup_script", "base_config",
		"cpu_pod_spec", "gpu_pod_spec", "checkpoint_gc_pod_spec", "pod_spec", "auth", "slurm", "pbs", "metadata",
	}
}

// hidePrivate hides the values of a private part, but not whether there is one.
func hidePrivate(d document.Difference) document.Difference {
	inPrivate := func(key string) bool { return slices.Contains(privateKeys(), strings.TrimRight(key, "[]0123456789")) }
	if !slices.ContainsFunc(strings.Split(d.Path, "."), inPrivate) {
		return d
	}
	switch {
	case d.Have == "":
		d.Want = hiddenValue
	case d.Want == "":
		d.Have = hiddenValue
	default:
		d.Have, d.Want = hiddenValue, hiddenValue+" (another)"
	}
	return d
}
