// Package config reads, merges and validates experiment configurations of version 0. Parsing is
// strict and reports every error with its position. A setting that is absent or null stays nil until
// the defaults are merged. The package performs no I/O.
package config

import (
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// Experiment is an experiment's configuration.
type Experiment struct {
	Name        *string      `yaml:"name" doc:"Name; three random words when empty"`
	Description *string      `yaml:"description" doc:"What the experiment is about"`
	Entrypoint  *Entrypoint  `yaml:"entrypoint" doc:"What to run: one command line, or a program with its arguments"`
	Workspace   *string      `yaml:"workspace" doc:"Workspace of the project"`
	Project     *string      `yaml:"project" doc:"Project; the one that is not named when empty"`
	Labels      Labels       `yaml:"labels" doc:"Labels"`
	Data        document.Raw `yaml:"data" doc:"Settings of the program's own"`
	Debug       *bool        `yaml:"debug" doc:"The program logs more"`

	Hyperparameters Hyperparameters `yaml:"hyperparameters" doc:"Hyperparameters: values, or what they may be"`
	Searcher        Searcher        `yaml:"searcher" doc:"How trials are chosen and compared"`
	Reproducibility Reproducibility `yaml:"reproducibility" doc:"What makes an experiment repeatable"`

	Resources         Resources         `yaml:"resources" doc:"Slots of each trial and where they come from"`
	Environment       spec.Environment  `yaml:"environment" doc:"Image and variables"`
	BindMounts        Mounts            `yaml:"bind_mounts" doc:"Directories of the machine that trials see"`
	MaxRestarts       *int              `yaml:"max_restarts" doc:"How often a failed trial is started again"`
	PreemptionTimeout *document.Seconds `yaml:"preemption_timeout" doc:"How long a trial may take to save itself"`
	LogPolicies       LogPolicies       `yaml:"log_policies" doc:"What to do when a log line matches"`
	Retention         Retention         `yaml:"retention_policy" doc:"How long logs are kept"`

	CheckpointStorage        Storage `yaml:"checkpoint_storage" doc:"Where checkpoints are kept, and how many"`
	CheckpointPolicy         *string `yaml:"checkpoint_policy" doc:"After which validations a checkpoint is saved: best, all or none"`
	MinCheckpointPeriod      *Length `yaml:"min_checkpoint_period" doc:"Least training between checkpoints"`
	MinValidationPeriod      *Length `yaml:"min_validation_period" doc:"Least training between validations"`
	PerformInitialValidation *bool   `yaml:"perform_initial_validation" doc:"Validate before any training"`
	RecordsPerEpoch          *int    `yaml:"records_per_epoch" doc:"Records of an epoch"`
	SchedulingUnit           *int    `yaml:"scheduling_unit" doc:"Batches between reports"`

	Optimizations Optimizations `yaml:"optimizations" doc:"How gradients are computed and exchanged"`
	Profiling     Profiling     `yaml:"profiling" doc:"Whether the use of machines is recorded"`

	// The following settings are accepted and have no effect.
	TensorboardStorage document.Raw `yaml:"tensorboard_storage" doc:"No effect"`
	DataLayer          document.Raw `yaml:"data_layer" doc:"No effect"`
	Integrations       document.Raw `yaml:"integrations" doc:"No effect"`
	Security           document.Raw `yaml:"security" doc:"No effect"`
	Internal           document.Raw `yaml:"internal" doc:"No effect"`
	PBS                document.Raw `yaml:"pbs" doc:"No effect"`
	Slurm              document.Raw `yaml:"slurm" doc:"No effect"`
}

// Resources configures the slots, the resource pool and the devices of each trial.
type Resources struct {
	SlotsPerTrial  *int       `yaml:"slots_per_trial" doc:"Slots of each trial"`
	ResourcePool   *string    `yaml:"resource_pool" doc:"Pool; the default one when empty"`
	Priority       *int       `yaml:"priority" doc:"1 (first) to 99"`
	Weight         *float64   `yaml:"weight" doc:"Share of the pool; the priority scheduler does not use it"`
	MaxSlots       *int       `yaml:"max_slots" doc:"Most slots of all trials together"`
	ShmSize        *spec.Size `yaml:"shm_size" doc:"Shared memory: bytes, or a text such as 4g"`
	Devices        Devices    `yaml:"devices" doc:"Devices of the machine that trials get"`
	IsSingleNode   *bool      `yaml:"is_single_node" doc:"All slots of a trial are on one machine"`
	NativeParallel *bool      `yaml:"native_parallel" doc:"No effect"`
	AgentLabel     *string    `yaml:"agent_label" doc:"No effect"`
	Slots          *int       `yaml:"slots" doc:"Must not be set; use slots_per_trial"`
}

// Reproducibility configures the seed of an experiment.
type Reproducibility struct {
	ExperimentSeed *int64 `yaml:"experiment_seed" doc:"Seed of the search, from 0 to 4294967295"`
}

// Retention configures how long logs are kept.
type Retention struct {
	LogDays *int `yaml:"log_retention_days" doc:"Days; -1 is for ever"`
}

// Profiling configures the recording of system metrics.
type Profiling struct {
	Enabled       *bool `yaml:"enabled" doc:"Record it"`
	BeginOnBatch  *int  `yaml:"begin_on_batch" doc:"First batch"`
	EndAfterBatch *int  `yaml:"end_after_batch" doc:"Last batch"`
	SyncTimings   *bool `yaml:"sync_timings" doc:"Wait for the GPU before taking times"`
}

// Optimizations configures how gradients are computed and exchanged.
type Optimizations struct {
	AggregationFrequency       *int    `yaml:"aggregation_frequency" doc:"Batches between exchanges"`
	AverageAggregatedGradients *bool   `yaml:"average_aggregated_gradients" doc:"Average over those batches"`
	AverageTrainingMetrics     *bool   `yaml:"average_training_metrics" doc:"Average training metrics over all slots"`
	GradientCompression        *bool   `yaml:"gradient_compression" doc:"Compress gradients"`
	MixedPrecision             *string `yaml:"mixed_precision" doc:"O0, O1, O2 or O3"`
	TensorFusionThreshold      *int    `yaml:"tensor_fusion_threshold" doc:"MiB"`
	TensorFusionCycleTime      *int    `yaml:"tensor_fusion_cycle_time" doc:"Milliseconds"`
	AutoTuneTensorFusion       *bool   `yaml:"auto_tune_tensor_fusion" doc:"Find both by trying"`
	GradUpdatesSizeFile        *string `yaml:"grad_updates_size_file" doc:"File with the sizes of gradients"`
}

// Mounts are bind mounts. Merge joins them instead of replacing them, like Devices, LogPolicies and
// Labels.
type Mounts []container.BindMount

// Devices are host devices of trials.
type Devices []container.Device

// LogPolicies are log policies, which Merge matches by name.
type LogPolicies []container.LogPolicy

// Labels are labels of an experiment.
type Labels []string

// Entrypoint is the command of each trial: a line for the shell, or a program with its arguments.
// The harness treats a line and a list of one line differently, so Entrypoint preserves the
// submitted form.
type Entrypoint struct {
	Line string
	Args []string
}

// UnmarshalDocument reads a string or a list of strings.
func (p *Entrypoint) UnmarshalDocument(v document.Value) {
	if v.IsList() {
		v.Decode(&p.Args)
		return
	}
	v.Decode(&p.Line)
}

// MarshalDocument returns the value in the submitted form.
func (p Entrypoint) MarshalDocument() any {
	if p.Args != nil {
		return p.Args
	}
	return p.Line
}

// DocumentShape describes the accepted forms.
func (Entrypoint) DocumentShape() string { return "text, or list of text" }

// IsEmpty reports whether the entrypoint has no command.
func (p *Entrypoint) IsEmpty() bool { return p == nil || p.Line == "" && len(p.Args) == 0 }
