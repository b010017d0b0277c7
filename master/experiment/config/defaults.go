package config

import (
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/experiment/search"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// MaxPreemptionTimeout is the longest preemption_timeout: a preemption or the drain of a machine
// waits that long for a trial to save a checkpoint.
const MaxPreemptionTimeout = 24 * time.Hour

// Default returns the default configuration of Determined 0.38.1.
func Default() Experiment {
	return Experiment{
		Workspace: new(string), Project: new(string), Debug: new(bool),
		MaxRestarts: pointTo(5), CheckpointPolicy: pointTo("best"), PerformInitialValidation: new(bool),
		MinCheckpointPeriod: &Length{Unit: "batches"}, MinValidationPeriod: &Length{Unit: "batches"},
		RecordsPerEpoch: new(int), SchedulingUnit: pointTo(100), Data: emptyMapping(),
		Resources: Resources{
			SlotsPerTrial: pointTo(spec.DefaultSlots), ResourcePool: new(string), Weight: pointTo(1.0), NativeParallel: new(bool),
		},
		Environment: spec.Environment{
			Image: container.Images{CPU: spec.DefaultImage, CUDA: spec.DefaultImage, ROCm: spec.DefaultImage}, ForcePullImage: new(bool),
		},
		Profiling: Profiling{Enabled: new(bool), BeginOnBatch: new(int), SyncTimings: pointTo(true)},
		Optimizations: Optimizations{
			AggregationFrequency: pointTo(1), AverageAggregatedGradients: pointTo(true), AverageTrainingMetrics: pointTo(true),
			GradientCompression: new(bool), MixedPrecision: pointTo("O0"), TensorFusionThreshold: pointTo(64), TensorFusionCycleTime: pointTo(1),
			AutoTuneTensorFusion: new(bool),
		},
		LogPolicies: LogPolicies{
			{Name: "CUDA OOM", Pattern: ".*CUDA out of memory.*"},
			{Name: "ECC Error", Pattern: ".*uncorrectable ECC error encountered.*"},
		},
		Hyperparameters: Hyperparameters{},
	}
}

// completeKinds adds the defaults that depend on the searcher's method and on the storage's type.
func (x Experiment) completeKinds() Experiment {
	x.Searcher = x.Searcher.completeMethod()
	// A policy without a pattern only overrides the policy of that name.
	x.LogPolicies = slices.DeleteFunc(slices.Clone(x.LogPolicies), func(p container.LogPolicy) bool { return p.Name != "" && p.Pattern == "" })
	s := &x.CheckpointStorage
	if s.Type == nil {
		return x
	}
	setDefault(&s.SaveExperimentBest, 0)
	setDefault(&s.SaveTrialBest, 1)
	setDefault(&s.SaveTrialLatest, 1)
	if *s.Type == "shared_fs" {
		setDefault(&s.Propagation, "rprivate")
	}
	return x
}

func (s Searcher) completeMethod() Searcher {
	setDefault(&s.SmallerIsBetter, true)
	if s.usesKey("max_concurrent_trials") {
		setDefault(&s.MaxConcurrentTrials, 16)
	}
	if s.stopsTrials() {
		setDefault(&s.Divisor, 4)
	}
	if s.searchMethod() == search.AdaptiveASHA {
		setDefault(&s.MaxRungs, 5)
		setDefault(&s.Mode, string(search.Standard))
	}
	return s
}

// containerPart returns the settings of task_container_defaults that apply to experiments. The
// registry credentials are left out, because users can read their experiment's configuration.
func containerPart(d container.Defaults) Experiment {
	x := Experiment{
		BindMounts: d.BindMounts, LogPolicies: d.LogPolicies,
		Environment: spec.Environment{
			Image: d.Image, Variables: d.Environment, ForcePullImage: d.ForcePullImage,
			AddCapabilities: d.AddCapabilities, DropCapabilities: d.DropCapabilities,
		},
		Resources: Resources{Devices: d.Devices},
	}
	if d.ShmSize > 0 {
		x.Resources.ShmSize = pointTo(spec.Size(d.ShmSize))
	}
	if d.PreemptionTimeout > 0 {
		x.PreemptionTimeout = pointTo(min(d.PreemptionTimeout, document.Seconds(MaxPreemptionTimeout)))
	}
	return x
}

func pointTo[T any](v T) *T { return &v }

func setDefault[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

func emptyMapping() document.Raw {
	r, err := document.RawJSON([]byte("{}"))
	if err != nil { // cannot fail: the text is JSON
		panic(err)
	}
	return r
}
