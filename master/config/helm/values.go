package helm

import (
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// Values holds all values of the chart. Those that only affect Kubernetes objects stay raw: the
// chart's schema validates them, and the master does not read them.
type Values struct {
	ImageRegistry       string       `yaml:"imageRegistry"`
	Image               document.Raw `yaml:"image"`
	DetVersion          string       `yaml:"detVersion"`
	ImagePullSecretName string       `yaml:"imagePullSecretName"`
	DefaultImages       Images       `yaml:"defaultImages"`

	LogLevel    string `yaml:"logLevel"`
	LogColor    *bool  `yaml:"logColor"`
	ClusterName string `yaml:"clusterName"`

	MaxSlotsPerPod       *int                `yaml:"maxSlotsPerPod"`
	SlotType             string              `yaml:"slotType"`
	SlotResource         string              `yaml:"slotResource"`
	SlotResourceRequests config.SlotRequests `yaml:"slotResourceRequests"`
	Tasks                Tasks               `yaml:"taskContainerDefaults"`
	Policy               Policy              `yaml:"taskPolicy"`
	Security             Security            `yaml:"security"`
	ResourcePools        []config.Pool       `yaml:"resourcePools"`
	AuxPool              string              `yaml:"defaultAuxResourcePool"`
	ComputePool          string              `yaml:"defaultComputeResourcePool"`
	ResourceManager      ResourceManager     `yaml:"resourceManager"`
	DefaultScheduler     string              `yaml:"defaultScheduler"`
	MasterHost           string              `yaml:"determinedMasterHost"`
	MasterPublicPort     int                 `yaml:"determinedMasterPort"`
	MasterScheme         string              `yaml:"determinedMasterScheme"`

	TensorboardTimeout *document.Seconds `yaml:"tensorboardTimeout"`
	NotebookTimeout    *document.Seconds `yaml:"notebookTimeout"`
	RetentionPolicy    Retention         `yaml:"retentionPolicy"`
	Storage            Storage           `yaml:"checkpointStorage"`

	InitialUserPassword Text       `yaml:"initialUserPassword"`
	DefaultPassword     Text       `yaml:"defaultPassword"`
	PasswordSecret      *SecretRef `yaml:"initialUserPasswordExistingSecret"`

	DeterminedPassword       Text       `yaml:"initialDeterminedPassword"`
	DeterminedPasswordSecret *SecretRef `yaml:"initialDeterminedPasswordExistingSecret"`

	DB            DB                   `yaml:"db"`
	MasterPort    int                  `yaml:"masterPort"`
	TLSSecret     string               `yaml:"tlsSecret"`
	Telemetry     Telemetry            `yaml:"telemetry"`
	Observability config.Observability `yaml:"observability"`
	Proxy         config.Proxy         `yaml:"proxy"`
	Logging       config.Logging       `yaml:"logging"`

	Refused    `yaml:",inline"`
	Kubernetes `yaml:",inline"`
}

// Refused holds values of the chart of Determined 0.38.1 that this chart does not support.
type Refused struct {
	EnterpriseEdition          bool         `yaml:"enterpriseEdition"`
	OIDC                       document.Raw `yaml:"oidc"`
	SCIM                       document.Raw `yaml:"scim"`
	SAML                       document.Raw `yaml:"saml"`
	GenAI                      document.Raw `yaml:"genai"`
	Fluent                     document.Raw `yaml:"fluent"`
	AdditionalResourceManagers document.Raw `yaml:"additional_resource_managers"`
}

// Kubernetes holds values that only affect Kubernetes objects.
type Kubernetes struct {
	Global                     document.Raw `yaml:"global"`
	CreateNonNamespacedObjects document.Raw `yaml:"createNonNamespacedObjects"`
	ExternalCACert             string       `yaml:"externalCaCertSecretName"`
	Coscheduler                document.Raw `yaml:"coscheduler"`
	UseNodePort                document.Raw `yaml:"useNodePortForMaster"`
	SourceRanges               document.Raw `yaml:"loadBalancerSourceRanges"`
	MasterService              document.Raw `yaml:"masterService"`
	Ingress                    document.Raw `yaml:"ingress"`
	OpenshiftRoute             document.Raw `yaml:"openshiftRoute"`
	NetworkPolicy              document.Raw `yaml:"networkPolicy"`
	CPURequest                 document.Raw `yaml:"masterCpuRequest"`
	MemRequest                 document.Raw `yaml:"masterMemRequest"`
	CPULimit                   document.Raw `yaml:"masterCpuLimit"`
	MemLimit                   document.Raw `yaml:"masterMemLimit"`
	Master                     document.Raw `yaml:"master"`
	ServiceAccount             document.Raw `yaml:"serviceAccount"`
	ServiceMonitor             document.Raw `yaml:"serviceMonitor"`
	RBAC                       document.Raw `yaml:"rbac"`
}

// Images are the images other than the master's.
type Images struct {
	PostgreSQL    string `yaml:"postgreSQL"`
	KubeScheduler string `yaml:"kubeScheduler"`
	// Preemption has no effect.
	Preemption string `yaml:"kubeSchedulerPreemption"`
	CPU        string `yaml:"cpuImage"`
	GPU        string `yaml:"gpuImage"`
	ROCm       string `yaml:"rocmImage"`
}

// Tasks are the settings of task containers.
type Tasks struct {
	NetworkMode       string                `yaml:"networkMode"`
	DtrainInterface   string                `yaml:"dtrainNetworkInterface"`
	ForcePullImage    *bool                 `yaml:"forcePullImage"`
	CPUPodSpec        document.Raw          `yaml:"cpuPodSpec"`
	GPUPodSpec        document.Raw          `yaml:"gpuPodSpec"`
	CheckpointGCSpec  document.Raw          `yaml:"checkpointGcPodSpec"`
	CPUImage          string                `yaml:"cpuImage"`
	GPUImage          string                `yaml:"gpuImage"`
	ROCmImage         string                `yaml:"rocmImage"`
	LogPolicies       []container.LogPolicy `yaml:"logPolicies"`
	StartupHook       string                `yaml:"startupHook"`
	HarnessWheel      *Wheel                `yaml:"harnessWheel"`
	ShmSize           document.Bytes        `yaml:"shmSizeBytes"`
	PreemptionTimeout *document.Seconds     `yaml:"preemptionTimeout"`
	Environment       container.Environment `yaml:"environmentVariables"`
}

// Wheel is a Python wheel in a ConfigMap, which the chart mounts.
type Wheel struct {
	ConfigMap string `yaml:"configMap"`
	File      string `yaml:"file"`
	SHA256    string `yaml:"sha256"`
}

// Policy limits the access of tasks to their nodes.
type Policy struct {
	HostPaths    []config.HostPath `yaml:"hostPaths"`
	Capabilities []string          `yaml:"capabilities"`
	Devices      []string          `yaml:"devices"`
	Privileged   *bool             `yaml:"privileged"`
	HostNetwork  *bool             `yaml:"hostNetwork"`
	HostPID      *bool             `yaml:"hostPid"`
	HostIPC      *bool             `yaml:"hostIpc"`
	Root         *bool             `yaml:"root"`
	Images       []string          `yaml:"images"`
	MaxShm       document.Bytes    `yaml:"maxShmSize"`
	MaxMemory    document.Bytes    `yaml:"maxMemory"`
	MaxProcesses int64             `yaml:"maxProcesses"`
	MinPriority  int               `yaml:"minPriority"`
	MaxGrace     document.Seconds  `yaml:"maxGracePeriod"`
}

// Security configures the users of tasks and permissions.
type Security struct {
	DefaultTask *security.AgentUser `yaml:"defaultTask"`
	AuthZ       AuthZ               `yaml:"authz"`
	Token       document.Raw        `yaml:"token"`
	TrustUsers  *bool               `yaml:"trustUsers"`
	Visibility  security.Visibility `yaml:"visibility"`
	Audit       *security.AuditLog  `yaml:"audit"`
	Proxies     security.Proxies    `yaml:"proxies"`
	Limits      *security.Limits    `yaml:"limits"`
}

// AuthZ configures authorization.
type AuthZ struct {
	Type string `yaml:"type"`
}

// ResourceManager configures where tasks run.
type ResourceManager struct {
	DefaultNamespace string `yaml:"defaultNamespace"`
	PodSecurity      string `yaml:"podSecurity"`
	ClusterName      string `yaml:"clusterName"`
	// TaskGateway is refused.
	TaskGateway document.Raw `yaml:"internalTaskGateway"`
}

// Retention configures the retention of task logs.
type Retention struct {
	Days     *int   `yaml:"logRetentionDays"`
	Schedule string `yaml:"schedule"`
}

// Telemetry is accepted but reports nothing.
type Telemetry struct {
	Enabled bool `yaml:"enabled"`
}

// SecretRef names an entry of an existing Secret.
type SecretRef struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}
