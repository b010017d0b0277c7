package config

import (
	"math"
	"path"

	"github.com/det-deploy/det-deploy/internal/document"
)

// validate returns the errors of a complete configuration.
func (x Experiment) validate(unmanaged bool) document.Errors {
	var e document.Errors
	e.Check(unmanaged || !x.Entrypoint.IsEmpty(), "entrypoint", "is required: the command of each trial, as in `python3 train.py`")
	e = append(e, Texts{Name: x.Name, Description: x.Description, Labels: (*[]string)(&x.Labels)}.Check()...)
	e.Check(x.Data.IsZero() || x.Data.JSON()[0] == '{', "data", "must be a mapping")
	checkLeast(&e, "max_restarts", x.MaxRestarts, 0)
	checkLeast(&e, "records_per_epoch", x.RecordsPerEpoch, 0)
	checkLeast(&e, "scheduling_unit", x.SchedulingUnit, 1)
	e.Check(valueOf(x.PreemptionTimeout) >= 0, "preemption_timeout", "must be at least 0 (is %v)", valueOf(x.PreemptionTimeout))
	e.Check(valueOf(x.PreemptionTimeout) <= document.Seconds(MaxPreemptionTimeout), "preemption_timeout", "must be at most %v (is %v), because other tasks and `det agent disable --drain` wait for it",
		document.Seconds(MaxPreemptionTimeout), valueOf(x.PreemptionTimeout))
	e = append(e, checkOneOf("checkpoint_policy", x.CheckpointPolicy, "best", "all", "none")...)
	e = append(e, x.MinCheckpointPeriod.validate("min_checkpoint_period", 0)...)
	e = append(e, x.MinValidationPeriod.validate("min_validation_period", 0)...)
	if s := x.Reproducibility.ExperimentSeed; s != nil {
		e.Check(*s >= 0 && *s <= math.MaxUint32, "reproducibility.experiment_seed", "must be between 0 and %d (is %d)", uint32(math.MaxUint32), *s)
	}
	if d := x.Retention.LogDays; d != nil {
		e.Check(*d >= -1 && *d <= math.MaxInt16, "retention_policy.log_retention_days", "must be between -1 and %d (is %d)", math.MaxInt16, *d)
	}
	e = append(e, x.validateTask()...)
	e = append(e, x.Optimizations.validate("optimizations")...)
	e = append(e, x.Profiling.validate("profiling")...)
	e = append(e, x.CheckpointStorage.validate("checkpoint_storage", !unmanaged)...)
	e = append(e, x.Searcher.validate("searcher", unmanaged)...)
	grid := x.Searcher.searchMethod() == "grid"
	e = append(e, x.Hyperparameters.validate("hyperparameters", grid)...)
	if len(e) == 0 && !unmanaged {
		e = append(e, x.validateSearch()...)
	}
	return e
}

// validateTask returns the errors in the container settings.
func (x Experiment) validateTask() document.Errors {
	var e document.Errors
	for i, b := range x.BindMounts {
		at := document.Index("bind_mounts", i)
		e = append(e, b.Validate(at)...)
		e.Check(path.Clean(b.ContainerPath) != "." || b.ContainerPath == "", document.Join(at, "container_path"), "must not be %q", ".")
	}
	for i, p := range x.LogPolicies {
		e = append(e, p.Validate(document.Index("log_policies", i))...)
	}
	e = append(e, x.Environment.Validate("environment")...)
	e = append(e, x.Environment.PodSpec.CheckMapping("environment.pod_spec")...)
	return append(e, x.Resources.validate("resources")...)
}

func (r Resources) validate(at string) document.Errors {
	var e document.Errors
	key := func(k string) string { return document.Join(at, k) }
	checkLeast(&e, key("slots_per_trial"), r.SlotsPerTrial, 0)
	checkLeast(&e, key("max_slots"), r.MaxSlots, 0)
	if p := r.Priority; p != nil {
		e.Check(*p >= 1 && *p <= 99, key("priority"), "must be between 1 and 99 (is %d)", *p)
	}
	if w := r.Weight; w != nil {
		e = append(e, CheckWeight(key("weight"), *w)...)
	}
	e.Check(r.Slots == nil, key("slots"), "slots not allowed in an experiment; set resources.slots_per_trial")
	for i, d := range r.Devices {
		e = append(e, d.Validate(document.Index(key("devices"), i))...)
	}
	return e
}

func (o Optimizations) validate(at string) document.Errors {
	e := checkOneOf(document.Join(at, "mixed_precision"), o.MixedPrecision, "O0", "O1", "O2", "O3")
	checkLeast(&e, document.Join(at, "aggregation_frequency"), o.AggregationFrequency, 1)
	checkLeast(&e, document.Join(at, "tensor_fusion_threshold"), o.TensorFusionThreshold, 0)
	checkLeast(&e, document.Join(at, "tensor_fusion_cycle_time"), o.TensorFusionCycleTime, 0)
	return e
}

func (p Profiling) validate(at string) document.Errors {
	var e document.Errors
	checkLeast(&e, document.Join(at, "begin_on_batch"), p.BeginOnBatch, 0)
	if p.EndAfterBatch != nil {
		e.Check(*p.EndAfterBatch >= valueOf(p.BeginOnBatch), document.Join(at, "end_after_batch"),
			"must be at least begin_on_batch (%d < %d)", *p.EndAfterBatch, valueOf(p.BeginOnBatch))
	}
	return e
}

func checkLeast(e *document.Errors, at string, v *int, n int) {
	e.Check(v == nil || *v >= n, at, "must be at least %d (is %d)", n, valueOf(v))
}

func checkOneOf(at string, v *string, allowed ...string) document.Errors {
	if v == nil {
		return nil
	}
	return document.OneOf(at, *v, allowed)
}
