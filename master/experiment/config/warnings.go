package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// listWarnings returns warnings for settings that are accepted but may not have the expected effect.
// The function given reports whether the user or a template set a key.
func (x Experiment) listWarnings(given func(string) bool) document.Errors {
	var w document.Errors
	for _, row := range idleSettings() {
		w.Check(!given(row.key), row.key, "has no effect: %s", row.why)
	}
	s := x.Searcher
	switch {
	case s.MaxLength == nil:
	case s.stopsTrials() && !s.legacyLength():
		w.Add("searcher.max_length", "has no effect on the search: time_metric and max_time replace it")
	case s.stopsTrials():
		w.Add("searcher.max_length", "is deprecated; it is used as time_metric %s and max_time %d", s.MaxLength.Unit, s.MaxLength.Units)
	default:
		w.Add("searcher.max_length", "is deprecated: the program decides how long it trains, and may read this value")
	}
	if c := x.CheckpointStorage; valueOf(c.Type) == "shared_fs" {
		for _, key := range []string{"container_path", "tensorboard_path"} {
			at := document.Join("checkpoint_storage", key)
			w.Check(!given(at), at, "has no effect: it is accepted for compatibility")
		}
	}
	const variables = "environment.environment_variables"
	if names := spec.UnassignedNames(x.Environment.Variables); given(variables) && len(names) > 0 {
		w.Add(variables, "%s has no effect: a name without = keeps the value that it has in the container", excerpt.Of(strings.Join(names, ", ")))
	}
	for i, p := range x.Environment.ProxyPorts {
		w.Check(!p.Unauthenticated, document.Index("environment.proxy_ports", i), "port %d is open without login to everyone who reaches the master", p.Port)
	}
	x.Hyperparameters.warnLists(&w, "hyperparameters")
	return w
}

// warnLists warns about search ranges inside a list, because lists are constants.
func (h Hyperparameters) warnLists(w *document.Errors, at string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		here := document.Join(at, name)
		h[name].Nested.warnLists(w, here)
		if h[name].Const == nil {
			continue
		}
		for i, item := range listOf(h[name].Const.Value) {
			m, _ := item.(map[string]any)
			kind, _ := m["type"].(string)
			searched := slices.Contains([]string{"int", "double", "log", "categorical"}, kind)
			w.Check(!searched, document.Index(here, i), "is not searched: lists are constants; make it a separate hyperparameter")
		}
	}
}

type idleSetting struct{ key, why string }

// idleSettings lists the settings that 0.38.1 accepts and ignores, and those of unsupported
// features.
func idleSettings() []idleSetting {
	return []idleSetting{
		{"tensorboard_storage", "TensorBoard files are stored with checkpoints"},
		{"data_layer", "programs load their data themselves"},
		{"integrations", "no integration is supported"},
		{"security", "Kerberos is not supported"},
		{"internal", "it is reserved for the master"},
		{"pbs", "this cluster does not run PBS"},
		{"slurm", "this cluster does not run Slurm"},
		{"resources.agent_label", "agents have no labels; use resource_pool"},
		{"resources.native_parallel", "no launcher supports it"},
		{"resources.weight", "the scheduler uses priority"},
		{"searcher.stop_once", "a trial is always compared once in each rung"},
	}
}
