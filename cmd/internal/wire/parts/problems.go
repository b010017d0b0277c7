package parts

import (
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/provision"
)

// Problems lists the errors in a valid configuration that a master reports when it starts: settings of
// machines, pods and agents that the respective packages reject.
func Problems(cfg config.Master) document.Errors {
	return append(provision.Problems(cfg), podProblems(cfg)...)
}

func podProblems(cfg config.Master) document.Errors {
	k := cfg.ResourceManager.Kubernetes
	if k == nil {
		return nil
	}
	e := addressProblems(*k)
	t := configuredTemplate(cfg, *k)
	if k.CheckpointClaim != nil {
		_, err := wantedClaim(t, *k.CheckpointClaim)
		e.Check(err == nil, "resource_manager.checkpoint_claim", "cannot be created: %v", err)
	}
	seen := make(map[document.Problem]bool)
	for i, p := range cfg.ResourcePools {
		for _, r := range poolTemplate(cfg, t, p).Check() {
			path := r.Field
			if definesSpec(p, path) {
				path = document.Join(document.Index("resource_pools", i), path)
			}
			if r.At != "" {
				path = document.Join(path, r.At)
			}
			one := document.Problem{Path: path, Text: r.Rule()}
			if !seen[one] { // pools without their own pod spec share that of the cluster
				seen[one] = true
				e = append(e, one)
			}
		}
	}
	return e
}

// definesSpec reports whether a pool has its own pod spec under a setting of task_container_defaults.
func definesSpec(p config.Pool, field string) bool {
	d := p.TaskContainerDefaults
	if d == nil {
		return false
	}
	switch {
	case strings.HasSuffix(field, ".cpu_pod_spec"):
		return !d.CPUPodSpec.IsZero()
	case strings.HasSuffix(field, ".gpu_pod_spec"):
		return !d.GPUPodSpec.IsZero()
	}
	return !d.CheckpointGCSpec.IsZero()
}

// addressProblems lists the missing settings that pods need to reach their master.
func addressProblems(k config.KubernetesRM) document.Errors {
	var e document.Errors
	e.Check(k.MasterImage != "", "resource_manager.master_image", "is required: set it to the det-deploy image, which prepares the pods of tasks with pod init")
	e.Check(k.MasterHost != "" || k.MasterServiceName != "", "resource_manager.determined_master_host", "is required: set it to the address at which pods reach this master")
	return e
}
