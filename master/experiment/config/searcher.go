package config

import (
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Searcher configures the search. Each method supports only some of the settings, which checkKeys
// enforces.
type Searcher struct {
	Name                 *string    `yaml:"name" doc:"single, random, grid, async_halving or adaptive_asha"`
	Metric               *string    `yaml:"metric" doc:"Validation metric for comparing trials"`
	SmallerIsBetter      *bool      `yaml:"smaller_is_better" doc:"Whether a smaller metric is better"`
	SourceTrialID        *int       `yaml:"source_trial_id" doc:"Trial from whose latest checkpoint all trials start"`
	SourceCheckpointUUID *string    `yaml:"source_checkpoint_uuid" doc:"Checkpoint from which all trials start"`
	MaxTrials            *int       `yaml:"max_trials" doc:"Number of trials"`
	MaxConcurrentTrials  *int       `yaml:"max_concurrent_trials" doc:"Maximum number of concurrent trials; 0 uses the limit of the method"`
	TimeMetric           *string    `yaml:"time_metric" doc:"Validation metric that measures the training length"`
	MaxTime              *int       `yaml:"max_time" doc:"Maximum training length in units of time_metric"`
	MaxLength            *MaxLength `yaml:"max_length" doc:"Older form of time_metric and max_time"`
	Divisor              *float64   `yaml:"divisor" doc:"One in this many trials of a rung continues"`
	NumRungs             *int       `yaml:"num_rungs" doc:"Number of rungs"`
	MaxRungs             *int       `yaml:"max_rungs" doc:"Maximum number of rungs"`
	Mode                 *string    `yaml:"mode" doc:"aggressive, standard or conservative"`
	BracketRungs         []int      `yaml:"bracket_rungs" doc:"Rungs of each bracket, instead of mode and max_rungs"`
	StopOnce             *bool      `yaml:"stop_once" doc:"No effect"`

	// Settings of methods that were removed.
	Budget          document.Raw `yaml:"budget" doc:"Must not be set"`
	TrainStragglers document.Raw `yaml:"train_stragglers" doc:"Must not be set"`
	Unit            document.Raw `yaml:"unit" doc:"Must not be set"`
}

// sharedKeys lists the settings that every method supports.
func sharedKeys() []string {
	return []string{"name", "metric", "smaller_is_better", "source_trial_id", "source_checkpoint_uuid", "max_length"}
}

// methodKeys lists the additional settings of each method.
func methodKeys() map[search.Method][]string {
	return map[search.Method][]string{
		search.Single: {},
		search.Random: {"max_trials", "max_concurrent_trials"},
		search.Grid:   {"max_concurrent_trials"},
		search.AsyncHalving: {
			"max_trials", "max_concurrent_trials", "time_metric", "max_time", "divisor", "num_rungs", "stop_once",
		},
		search.AdaptiveASHA: {
			"max_trials", "max_concurrent_trials", "time_metric", "max_time", "divisor", "max_rungs", "mode", "bracket_rungs", "stop_once",
		},
	}
}

func (s Searcher) searchMethod() search.Method { return search.Method(valueOf(s.Name)) }

// usesKey reports whether the method supports a setting.
func (s Searcher) usesKey(key string) bool {
	return slices.Contains(sharedKeys(), key) || slices.Contains(methodKeys()[s.searchMethod()], key)
}

// stopsTrials reports whether the method stops trials early.
func (s Searcher) stopsTrials() bool { return s.usesKey("divisor") }

// legacyLength reports whether max_length replaces time_metric and max_time.
func (s Searcher) legacyLength() bool {
	return s.MaxLength != nil && s.TimeMetric == nil && s.MaxTime == nil
}

// Search returns the search configuration. The receiver must be complete.
func (x Experiment) Search() search.Config {
	s := x.Searcher
	c := search.Config{
		Method: s.searchMethod(), Space: x.Hyperparameters.makeSpace(), Seed: uint32(valueOf(x.Reproducibility.ExperimentSeed)),
		MaxTrials: valueOf(s.MaxTrials), MaxConcurrent: valueOf(s.MaxConcurrentTrials),
		Metric: valueOf(s.Metric), SmallerIsBetter: valueOf(s.SmallerIsBetter),
		TimeMetric: valueOf(s.TimeMetric), MaxTime: uint64(valueOf(s.MaxTime)), Divisor: valueOf(s.Divisor),
		Rungs: valueOf(s.NumRungs), Mode: search.Mode(valueOf(s.Mode)), BracketRungs: s.BracketRungs,
	}
	if c.Method == search.AdaptiveASHA {
		c.Rungs = valueOf(s.MaxRungs)
	}
	if l := s.MaxLength; s.legacyLength() {
		c.TimeMetric, c.MaxTime = l.Unit, uint64(l.Units)
	}
	return c
}
