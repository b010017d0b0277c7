package config

import (
	"regexp"

	"github.com/det-deploy/det-deploy/internal/document"
)

// PreemptionScheduler is the default_scheduler with which jobs of higher priority preempt those of
// lower priority.
const PreemptionScheduler = "preemption"

// KubernetesRM runs tasks as pods.
type KubernetesRM struct {
	ClusterName              string `yaml:"cluster_name" doc:"Name of this resource manager"`
	DefaultPools             `yaml:",inline"`
	DefaultNamespace         string                  `yaml:"default_namespace" doc:"Namespace of tasks"`
	FormerNamespaces         []string                `yaml:"former_namespaces" doc:"Former namespaces of tasks, whose running tasks are monitored to their end; set by the chart to the release's own"`
	TaskServiceAccount       string                  `yaml:"task_service_account" doc:"Default ServiceAccount of task pods; if empty, the default one of the namespace; set by the chart to one without permissions"`
	ProtectedObjects         []string                `yaml:"protected_objects" doc:"Names of Secrets and volume claims in the namespace of tasks that no task may use, beside those that the chart names; set by the chart"`
	MaxSlotsPerPod           *int                    `yaml:"max_slots_per_pod" doc:"Maximum number of slots per pod; larger tasks get several pods"`
	SlotType                 string                  `yaml:"slot_type" doc:"cuda (or gpu), rocm or cpu"`
	SlotResource             string                  `yaml:"slot_resource" doc:"Extended resource of one slot, if it is not nvidia.com/gpu or amd.com/gpu, such as nvidia.com/mig-1g.10gb"`
	SlotResourceRequests     SlotRequests            `yaml:"slot_resource_requests" doc:"Resource requests per slot"`
	MasterServiceName        string                  `yaml:"master_service_name" doc:"Service of the master; set by the chart"`
	DefaultScheduler         string                  `yaml:"default_scheduler" doc:"empty, preemption (jobs of higher priority preempt lower ones) or coscheduler (a scheduler plugin)"`
	KubeconfigPath           string                  `yaml:"kubeconfig_path" doc:"Kubeconfig file; by default the pod's own ServiceAccount"`
	MasterScheme             string                  `yaml:"determined_master_scheme" doc:"Scheme of the address given to tasks"`
	MasterHost               string                  `yaml:"determined_master_host" doc:"Host of the address given to tasks"`
	MasterPort               int                     `yaml:"determined_master_port" doc:"Port of the address given to tasks"`
	LeaveKubernetesResources bool                    `yaml:"leave_kubernetes_resources" doc:"Keep the Kubernetes resources of ended tasks, for debugging"`
	InternalTaskGateway      *TaskGateway            `yaml:"internal_task_gateway" doc:"Reach tasks through a gateway"`
	ClusterID                string                  `yaml:"cluster_id" doc:"Value of the label det-deploy.dev/cluster of all objects of this cluster; set by the chart to the release's name"`
	MasterImage              string                  `yaml:"master_image" doc:"Image with det-deploy, whose pod init prepares each task pod; set by the chart"`
	ImagePullSecrets         []string                `yaml:"image_pull_secrets" doc:"Secrets in the namespace of tasks with which nodes pull the images of task pods"`
	ImagePullSecretDir       string                  `yaml:"image_pull_secret_dir" doc:"Directory with the content of a Secret of type kubernetes.io/dockerconfigjson or dockercfg, read for each task: its pods pull with a copy, and need no Secret of image_pull_secrets; set by the chart where tasks have a namespace of their own"`
	CheckpointClaim          *CheckpointClaim        `yaml:"checkpoint_claim" doc:"Volume claim that the master creates for checkpoint_storage.host_path; set by the chart"`
	Metadata                 map[string]document.Raw `yaml:"metadata" doc:"Passed through to the API"`
}

// CheckpointClaim configures the volume claim for checkpoints.
type CheckpointClaim struct {
	Size         string `yaml:"size" doc:"Size, as a Kubernetes quantity"`
	StorageClass string `yaml:"storage_class" doc:"StorageClass; by default the cluster's default one"`
	AccessMode   string `yaml:"access_mode" doc:"ReadWriteOnce or ReadWriteMany; pods of several nodes mount it at the same time only with ReadWriteMany"`
}

// SetDefaults sets c to a claim that every StorageClass supports.
func (c *CheckpointClaim) SetDefaults() {
	*c = CheckpointClaim{Size: "100Gi", AccessMode: "ReadWriteOnce"}
}

// SlotRequests are the resources that one slot requests.
type SlotRequests struct {
	CPU float64 `yaml:"cpu" doc:"CPUs of one slot with slot_type cpu"`
}

// TaskGateway configures a gateway in front of tasks.
type TaskGateway struct {
	Name      string `yaml:"gateway_name" doc:"Name of the gateway"`
	Namespace string `yaml:"gateway_namespace" doc:"Namespace of the gateway"`
	IP        string `yaml:"gateway_ip" doc:"Address of the gateway"`
	PortStart int    `yaml:"gateway_port_range_start" doc:"First port, at least 1025"`
	PortEnd   int    `yaml:"gateway_port_range_end" doc:"Last port, at most 65535"`
}

// SetDefaults sets r to the defaults.
func (r *KubernetesRM) SetDefaults() {
	*r = KubernetesRM{
		ClusterName: "default", DefaultPools: DefaultPools{Aux: "default", Compute: "default"},
		DefaultNamespace: "default", SlotType: "cuda",
	}
}

// SetDefaults sets the ports to a range that Kubernetes does not use itself.
func (g *TaskGateway) SetDefaults() { *g = TaskGateway{PortStart: 32768, PortEnd: 65535} }

// extendedResource matches the names of resources that device plugins offer.
func extendedResource() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)
}

// Validate checks the settings that do not depend on the Kubernetes cluster.
func (r KubernetesRM) Validate(path string) document.Errors {
	at := func(key string) string { return document.Join(path, key) }
	e := document.OneOf(at("slot_type"), r.SlotType, []string{"cuda", "gpu", "rocm", "cpu"})
	e = append(e, document.OneOf(at("default_scheduler"), r.DefaultScheduler, []string{"", "coscheduler", PreemptionScheduler})...)
	e.Check(r.SlotType != "cpu" || r.SlotResourceRequests.CPU > 0, at("slot_resource_requests.cpu"), "must be more than 0 with slot_type cpu (is %v)", r.SlotResourceRequests.CPU)
	e.Check(r.SlotResource == "" || extendedResource().MatchString(r.SlotResource), at("slot_resource"), "must be the name of an extended resource, such as nvidia.com/mig-1g.10gb (is %q)", r.SlotResource)
	e.Check(r.SlotResource == "" || r.SlotType != "cpu", at("slot_resource"), "must not be set with slot_type cpu, whose slots are CPUs")
	if r.MaxSlotsPerPod != nil {
		e.Check(*r.MaxSlotsPerPod >= 0, at("max_slots_per_pod"), "must be at least 0 (is %d)", *r.MaxSlotsPerPod)
	}
	e.Check(r.MasterPort >= 0 && r.MasterPort <= 65535, at("determined_master_port"), "must be between 0 and 65535 (is %d)", r.MasterPort)
	if c := r.CheckpointClaim; c != nil {
		e.Check(c.Size != "", at("checkpoint_claim.size"), "is required")
		e = append(e, document.OneOf(at("checkpoint_claim.access_mode"), c.AccessMode, []string{"ReadWriteOnce", "ReadWriteMany"})...)
	}
	if g := r.InternalTaskGateway; g != nil {
		at := func(key string) string { return document.Join(path, "internal_task_gateway."+key) }
		e.Check(g.Name != "", at("gateway_name"), "is required")
		e.Check(g.Namespace != "", at("gateway_namespace"), "is required")
		e.Check(g.IP != "", at("gateway_ip"), "is required")
		e.Check(g.PortStart >= 1025 && g.PortStart <= 65535, at("gateway_port_range_start"), "must be between 1025 and 65535 (is %d)", g.PortStart)
		e.Check(g.PortEnd >= g.PortStart && g.PortEnd <= 65535, at("gateway_port_range_end"), "must be between gateway_port_range_start and 65535 (is %d)", g.PortEnd)
	}
	return e
}
