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
	Name        *string      `yaml:"name" doc:"Name; defaults to three random words"`
	Description *string      `yaml:"description" doc:"Description"`
	Entrypoint  *Entrypoint  `yaml:"entrypoint" doc:"Command of each trial: a shell command line, or a program with its arguments"`
	Workspace   *string      `yaml:"workspace" doc:"Workspace of the project"`
	Project     *string      `yaml:"project" doc:"Project; defaults to Uncategorized"`
	Labels      Labels       `yaml:"labels" doc:"Labels"`
	Data        document.Raw `yaml:"data" doc:"Settings for the program"`
	Debug       *bool        `yaml:"debug" doc:"Enable debug logging"`

	Hyperparameters Hyperparameters `yaml:"hyperparameters" doc:"Hyperparameters: constants or search ranges"`
	Searcher        Searcher        `yaml:"searcher" doc:"Search method and its settings"`
	Reproducibility Reproducibility `yaml:"reproducibility" doc:"Settings for reproducible experiments"`

	Resources         Resources         `yaml:"resources" doc:"Slots, resource pool and devices of each trial"`
	Environment       spec.Environment  `yaml:"environment" doc:"Image and environment variables"`
	BindMounts        Mounts            `yaml:"bind_mounts" doc:"Host directories mounted into trials"`
	MaxRestarts       *int              `yaml:"max_restarts" doc:"Maximum number of restarts after failures of a trial"`
	PreemptionTimeout *document.Seconds `yaml:"preemption_timeout" doc:"Time for a trial to save a checkpoint when it is stopped"`
	LogPolicies       LogPolicies       `yaml:"log_policies" doc:"Actions on matching log lines"`
	Retention         Retention         `yaml:"retention_policy" doc:"Retention of logs"`

	CheckpointStorage        Storage `yaml:"checkpoint_storage" doc:"Location and retention of checkpoints"`
	CheckpointPolicy         *string `yaml:"checkpoint_policy" doc:"Validations after which a checkpoint is saved: best, all or none"`
	MinCheckpointPeriod      *Length `yaml:"min_checkpoint_period" doc:"Minimum training between checkpoints"`
	MinValidationPeriod      *Length `yaml:"min_validation_period" doc:"Minimum training between validations"`
	PerformInitialValidation *bool   `yaml:"perform_initial_validation" doc:"Validate before training"`
	RecordsPerEpoch          *int    `yaml:"records_per_epoch" doc:"Number of records in an epoch"`
	SchedulingUnit           *int    `yaml:"scheduling_unit" doc:"Number of batches between reports"`

	Optimizations Optimizations `yaml:"optimizations" doc:"Computation and exchange of gradients"`
	Profiling     Profiling     `yaml:"profiling" doc:"Recording of system metrics"`

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
	ResourcePool   *string    `yaml:"resource_pool" doc:"Resource pool; defaults to the default pool"`
	Priority       *int       `yaml:"priority" doc:"Priority from 1 (highest) to 99"`
	Weight         *float64   `yaml:"weight" doc:"Share of the resource pool; ignored by the priority scheduler"`
	MaxSlots       *int       `yaml:"max_slots" doc:"Maximum number of slots of all trials"`
	ShmSize        *spec.Size `yaml:"shm_size" doc:"Shared memory in bytes, or a size such as 4g"`
	Devices        Devices    `yaml:"devices" doc:"Host devices of trials"`
	IsSingleNode   *bool      `yaml:"is_single_node" doc:"Place all slots of a trial on one machine"`
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
	LogDays *int `yaml:"log_retention_days" doc:"Days; -1 keeps logs forever"`
}

// Profiling configures the recording of system metrics.
type Profiling struct {
	Enabled       *bool `yaml:"enabled" doc:"Record system metrics"`
	BeginOnBatch  *int  `yaml:"begin_on_batch" doc:"First batch"`
	EndAfterBatch *int  `yaml:"end_after_batch" doc:"Last batch"`
	SyncTimings   *bool `yaml:"sync_timings" doc:"Wait for the GPU before measuring times"`
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
	AutoTuneTensorFusion       *bool   `yaml:"auto_tune_tensor_fusion" doc:"Tune both automatically"`
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
