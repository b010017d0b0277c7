package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/document/naming"
	"github.com/det-deploy/det-deploy/master/experiment/hparam"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

const (
	// mostAtOnce limits the trials that a search starts at once, because each is a task in the
	// queue.
	mostAtOnce = 10_000
	// MostHyperparameters limits the hyperparameter values of the concurrent trials, because one
	// transaction stores those of the first batch. For unmanaged experiments it limits the values of
	// all trials.
	MostHyperparameters = 1_000_000
)

func (s Searcher) validate(at string, unmanaged bool) document.Errors {
	var e document.Errors
	key := func(k string) string { return document.Join(at, k) }
	if unmanaged && valueOf(s.Name) == "custom" { // the search runs outside the cluster, too
		checkKeys(&e, at, s, func(key string) bool { return key == "unit" || slices.Contains(sharedKeys(), key) }, "the method custom")
		return e
	}
	if !s.checkName(&e, key("name")) {
		return e
	}
	checkKeys(&e, at, s, s.usesKey, "the method "+*s.Name)
	e.Check(valueOf(s.Metric) != "", key("metric"), "is required: the validation metric for comparing trials")
	e.Check(s.SourceTrialID == nil || s.SourceCheckpointUUID == nil, key("source_checkpoint_uuid"), "cannot be combined with source_trial_id; remove one of them")
	e.Check(!s.usesKey("max_trials") || s.MaxTrials != nil, key("max_trials"), "is required")
	checkLeast(&e, key("max_trials"), s.MaxTrials, 1)
	checkLeast(&e, key("max_concurrent_trials"), s.MaxConcurrentTrials, 0)
	if s.stopsTrials() {
		s.validateHalving(&e, key)
	}
	return append(e, s.MaxLength.validate(key("max_length"))...)
}

// checkName reports whether the method exists, and adds an error if it does not.
func (s Searcher) checkName(e *document.Errors, at string) bool {
	name := valueOf(s.Name)
	_, ok := methodKeys()[search.Method(name)]
	instead, old := retiredMethods()[name]
	names := make([]string, 0, len(methodKeys()))
	for m := range methodKeys() {
		names = append(names, string(m))
	}
	slices.Sort(names)
	switch {
	case ok:
		return true
	case name == "":
		e.Add(at, "is required: one of %s", strings.Join(names, ", "))
	case old:
		e.Add(at, "the method %s is no longer supported; %s", name, instead)
	default:
		*e = append(*e, document.OneOf(at, name, names)...)
		hintNearest(e, name, names)
	}
	return false
}

func (s Searcher) validateHalving(e *document.Errors, key func(string) string) {
	if s.legacyLength() {
		e.Check(s.MaxLength.Unit != "" || s.MaxLength.Units < 1, key("max_length"), "has no unit; set time_metric and max_time instead")
	} else {
		e.Check(valueOf(s.TimeMetric) != "", key("time_metric"), "is required: the validation metric that measures the training length, such as epochs")
		e.Check(s.MaxTime != nil, key("max_time"), "is required: the maximum training length in units of time_metric")
	}
	checkLeast(e, key("max_time"), s.MaxTime, 1)
	e.Check(s.Divisor == nil || *s.Divisor > 1, key("divisor"), "must be more than 1 (is %v)", valueOf(s.Divisor))
	e.Check(!s.usesKey("num_rungs") || s.NumRungs != nil, key("num_rungs"), "is required: the number of rungs")
	checkLeast(e, key("num_rungs"), s.NumRungs, 1)
	checkLeast(e, key("max_rungs"), s.MaxRungs, 1)
	*e = append(*e, checkOneOf(key("mode"), s.Mode, string(search.Aggressive), string(search.Standard), string(search.Conservative))...)
	for i, n := range s.BracketRungs {
		e.Check(n >= 1, document.Index(key("bracket_rungs"), i), "must be at least 1 (is %d)", n)
	}
}

func (s Storage) validate(at string, required bool) document.Errors {
	var e document.Errors
	kind := document.Join(at, "type")
	kinds := slices.Sorted(maps.Keys(typeKeys()))
	switch {
	case s.Type == nil:
		e.Check(!required, kind, "is required: neither the experiment nor the cluster configures a checkpoint storage; set one of %s, or ask an administrator to configure the cluster's: "+
			"checkpoint_storage in master.yaml, or on Kubernetes checkpointStorage in the chart's values, with existingClaim or hostPath for shared_fs", strings.Join(kinds, ", "))
		return e
	case *s.Type == "hdfs":
		e.Add(kind, "the type hdfs is no longer supported; use one of %s", strings.Join(kinds, ", "))
		return e
	case !slices.Contains(kinds, *s.Type):
		e = document.OneOf(kind, *s.Type, kinds)
		hintNearest(&e, *s.Type, kinds)
		return e
	}
	checkKeys(&e, at, s, s.usesKey, "the type "+*s.Type)
	return append(e, s.Typed().Validate(at)...)
}

// checkKeys adds an error for each setting that belongs to another kind.
func checkKeys(e *document.Errors, at string, part any, uses func(string) bool, kind string) {
	v := reflect.ValueOf(part)
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		e.Check(v.Field(i).IsZero() || uses(key), document.Join(at, key), "is not a setting of %s; remove it", kind)
	}
}

func hintNearest(e *document.Errors, value string, known []string) {
	if k := naming.Nearest(value, known); k != "" {
		(*e)[len(*e)-1].Hint = "did you mean " + k + "?"
	}
}

func (h Hyperparameters) validate(at string, grid bool) document.Errors {
	var e document.Errors
	for _, name := range slices.Sorted(maps.Keys(h)) {
		e = append(e, h[name].validate(document.Join(at, name), grid)...)
	}
	return e
}

// validateSearch checks the size of the search, which depends on the whole configuration.
func (x Experiment) validateSearch() document.Errors {
	var e document.Errors
	c := x.Search()
	if n := c.Space.Points(); c.Method == search.Grid && n > hparam.Most {
		e.Add("hyperparameters", "the grid has more than %d trials; reduce the number of points, or use the method random", hparam.Most)
		return e
	}
	brackets, err := c.Brackets()
	if err != nil {
		e.Add("searcher", "%v", err)
		return e
	}
	atOnce := 0
	for _, b := range brackets {
		atOnce += b.Concurrent
	}
	e.Check(atOnce <= mostAtOnce || c.MaxConcurrent > 0 && c.MaxConcurrent <= mostAtOnce, "searcher.max_concurrent_trials",
		"must allow at most %d concurrent trials (allows %d)", mostAtOnce, atOnce)
	if c.MaxConcurrent > 0 {
		atOnce = min(atOnce, c.MaxConcurrent)
	}
	if n := c.Space.Size(); n*atOnce > MostHyperparameters {
		e.Add("hyperparameters", "must have at most %d values in all concurrent trials (%d trials with %d values each); "+
			"lower searcher.max_concurrent_trials, or put large values into files", MostHyperparameters, atOnce, n)
	}
	return e
}
