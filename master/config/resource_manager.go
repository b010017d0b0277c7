package config

import (
	"cmp"
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
)

// ResourceManager configures how tasks run.
type ResourceManager struct {
	Agent      *AgentRM
	Kubernetes *KubernetesRM
}

// Variants returns the types.
func (r *ResourceManager) Variants() []document.Variant {
	return []document.Variant{
		{Type: "agent", Field: &r.Agent, Default: true},
		{Type: "kubernetes", Field: &r.Kubernetes},
	}
}

// DefaultResourceManager returns the settings of a resource manager for agents.
func DefaultResourceManager() ResourceManager {
	a := DefaultAgentRM()
	return ResourceManager{Agent: &a}
}

// DefaultPools are the pools of tasks that do not specify one.
type DefaultPools struct {
	Aux     string `yaml:"default_aux_resource_pool" doc:"Default pool of tasks without slots; by default the only pool, or default"`
	Compute string `yaml:"default_compute_resource_pool" doc:"Default pool of tasks with slots; by default the only pool, or default"`
}

// Pools returns both names.
func (r ResourceManager) Pools() DefaultPools {
	if d := r.defaultPools(); d != nil {
		return *d
	}
	return DefaultPools{}
}

func (r ResourceManager) defaultPools() *DefaultPools {
	switch {
	case r.Kubernetes != nil:
		return &r.Kubernetes.DefaultPools
	case r.Agent != nil:
		return &r.Agent.DefaultPools
	}
	return nil
}

// fillDefaultPools makes the only pool the default pool, unless the file names another.
func (r ResourceManager) fillDefaultPools(path string, pools []Pool, given func(path string) bool) {
	d := r.defaultPools()
	if d == nil || len(pools) != 1 || pools[0].Name == "" {
		return
	}
	if !given(document.Join(path, "default_aux_resource_pool")) {
		d.Aux = pools[0].Name
	}
	if !given(document.Join(path, "default_compute_resource_pool")) {
		d.Compute = pools[0].Name
	}
}

// Name returns the name of the resource manager's cluster.
func (r ResourceManager) Name() string {
	if r.Kubernetes != nil {
		return r.Kubernetes.ClusterName
	}
	if r.Agent != nil {
		return r.Agent.ClusterName
	}
	return ""
}

// AgentRM runs tasks on agents.
type AgentRM struct {
	ClusterName            string    `yaml:"cluster_name" doc:"Name of this resource manager"`
	Scheduler              Scheduler `yaml:"scheduler" doc:"Default scheduler of pools"`
	DefaultPools           `yaml:",inline"`
	NoDefaultResourcePools bool                    `yaml:"no_default_resource_pools" doc:"Reject tasks that name no pool"`
	RequireAuthentication  bool                    `yaml:"require_authentication" doc:"Accept only agents with a credential"`
	ClientCA               string                  `yaml:"client_ca" doc:"CA file for agents' client certificates"`
	Metadata               map[string]document.Raw `yaml:"metadata" doc:"Passed through to the API"`
}

// DefaultAgentRM returns the default settings.
func DefaultAgentRM() AgentRM {
	return AgentRM{
		ClusterName: "default", Scheduler: DefaultScheduler(),
		DefaultPools: DefaultPools{Aux: "default", Compute: "default"},
	}
}

// SetDefaults sets r to the defaults.
func (r *AgentRM) SetDefaults() { *r = DefaultAgentRM() }

// AdditionalResourceManager configures a further Kubernetes cluster.
type AdditionalResourceManager struct {
	ResourceManager ResourceManager `yaml:"resource_manager" doc:"The cluster, of type kubernetes"`
	ResourcePools   []Pool          `yaml:"resource_pools" doc:"Its pools, at least one"`
}

// validatePools checks the pools of all resource managers.
func (m Master) validatePools(path string) document.Errors {
	at := func(key string) string { return document.Join(path, key) }
	pools := map[string]string{}
	clusters := map[string]string{}
	shared := m.TaskContainerDefaults.Kubernetes != nil && m.TaskContainerDefaults.Kubernetes.MaxSlotsPerPod != nil
	e := m.ResourceManager.checkPools(at("resource_manager"), clusters)
	if k := m.ResourceManager.Kubernetes; k != nil {
		one := (k.MaxSlotsPerPod != nil) != shared
		e.Check(one, document.Join(at("resource_manager"), "max_slots_per_pod"),
			"is required, here or in task_container_defaults.kubernetes, and not in both")
	}
	e = append(e, checkPools(at("resource_pools"), m.ResourcePools, m.ResourceManager, pools)...)
	e = append(e, checkProjects(at("resource_pools"), m.ResourcePools)...)
	for i, a := range m.AdditionalResourceManagers {
		here := document.Index(at("additional_resource_managers"), i)
		e.Check(a.ResourceManager.Kubernetes != nil, document.Join(here, "resource_manager.type"), "must be kubernetes")
		e.Check(len(a.ResourcePools) > 0, document.Join(here, "resource_pools"), "must have at least one pool")
		e = append(e, a.ResourceManager.checkPools(document.Join(here, "resource_manager"), clusters)...)
		e = append(e, checkPools(document.Join(here, "resource_pools"), a.ResourcePools, a.ResourceManager, pools)...)
		if k := a.ResourceManager.Kubernetes; k != nil {
			e.Check(k.MaxSlotsPerPod != nil, document.Join(here, "resource_manager.max_slots_per_pod"), "is required with several resource managers")
		}
	}
	return e
}

// checkProjects returns an error for pools in different projects, because agents must be in their
// master's project. The project of a pool that names none is the master's, which is not known here.
func checkProjects(path string, pools []Pool) document.Errors {
	var e document.Errors
	first := ""
	for i, p := range pools {
		if p.Provider == nil || p.Provider.GCP == nil || p.Provider.GCP.Project == "" {
			continue
		}
		project := p.Provider.GCP.Project
		first = cmp.Or(first, project)
		e.Check(project == first, document.Join(document.Index(path, i), "provider.project"),
			"must be that of the other pools (%q, not %q): agents are in their master's project", first, project)
	}
	return e
}

func (r ResourceManager) checkPools(path string, clusters map[string]string) document.Errors {
	var e document.Errors
	if first, twice := clusters[r.Name()]; twice {
		e.Add(document.Join(path, "cluster_name"), "must be unique (%q is also %s)", r.Name(), first)
	}
	clusters[r.Name()] = path
	if r.Agent != nil {
		e = append(e, r.Agent.Scheduler.Validate(document.Join(path, "scheduler"))...)
		e.Check(r.Agent.ClusterName != "", document.Join(path, "cluster_name"), "is required")
	}
	if r.Kubernetes != nil {
		e = append(e, r.Kubernetes.Validate(path)...)
	}
	return e
}

// checkPools checks each pool, that names are unique across all resource managers, and that the
// default pools exist.
func checkPools(path string, pools []Pool, rm ResourceManager, seen map[string]string) document.Errors {
	var e document.Errors
	var names []string
	for i, p := range pools {
		at := document.Index(path, i)
		e = append(e, p.Validate(at)...)
		// Pods do not use agents; a warning reports the setting.
		e.Check(p.AgentReconnectWait > 0 || rm.Kubernetes != nil, document.Join(at, "agent_reconnect_wait"), "must be more than 0 (is %v)", p.AgentReconnectWait)
		if first, twice := seen[p.Name]; twice && p.Name != "" {
			e.Add(document.Join(at, "pool_name"), "must be unique (%q is also %s)", p.Name, first)
		}
		seen[p.Name] = at
		names = append(names, p.Name)
	}
	if rm.Agent != nil && rm.Agent.NoDefaultResourcePools {
		return e
	}
	parent := "resource_manager"
	if n := len(path) - len("resource_pools"); n > 0 {
		parent = path[:n] + parent
	}
	if slices.Contains(names, "") { // the pool with the missing name may be the default pool
		return e
	}
	d := rm.Pools()
	e.Check(slices.Contains(names, d.Aux), document.Join(parent, "default_aux_resource_pool"), "names no pool (%q)", d.Aux)
	e.Check(slices.Contains(names, d.Compute), document.Join(parent, "default_compute_resource_pool"), "names no pool (%q)", d.Compute)
	return e
}
