// Package search decides which trials an experiment creates and which of them continue. It
// implements the methods single, random, grid, async_halving and adaptive_asha. All functions are
// pure: the result depends only on the configuration, which includes the seed, and on the inputs.
//
// Decide returns the decision for one input, and Apply applies it to the state. Decisions are stored
// with their reasons, and Replay rebuilds a search from them without deciding again, so that a later
// version never changes past decisions.
package search

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/experiment/hparam"
)

// Method is a search method.
type Method string

// The methods.
const (
	Single       Method = "single"
	Random       Method = "random"
	Grid         Method = "grid"
	AsyncHalving Method = "async_halving"
	AdaptiveASHA Method = "adaptive_asha"
)

// Mode determines how early adaptive_asha stops trials.
type Mode string

// The modes.
const (
	Aggressive   Mode = "aggressive"
	Standard     Mode = "standard"
	Conservative Mode = "conservative"
)

// Config is the configuration of a search. Brackets returns an error if it is invalid.
type Config struct {
	Method Method
	Space  hparam.Space
	// Seed is reproducibility.experiment_seed.
	Seed uint32
	// MaxTrials is the number of trials; grid and single ignore it.
	MaxTrials int
	// MaxConcurrent limits the concurrent trials; 0 leaves the limit to the method.
	MaxConcurrent int

	// Metric is the metric by which trials are compared, TimeMetric the metric that measures their
	// length, and MaxTime the maximum length. Methods that stop no trials ignore them.
	Metric          string
	SmallerIsBetter bool
	TimeMetric      string
	MaxTime         uint64

	// Divisor is the inverse of the share of trials that continue at a rung.
	Divisor float64
	// Rungs is num_rungs of async_halving, and max_rungs of adaptive_asha.
	Rungs int
	Mode  Mode
	// BracketRungs replaces Mode and Rungs if it is not empty.
	BracketRungs []int
}

// Halving reports whether the method stops trials early.
func (c Config) Halving() bool { return c.Method == AsyncHalving || c.Method == AdaptiveASHA }

// most limits the trials of a search, so that a mistyped number is rejected.
const most = hparam.Most

// maxRungs exceeds the rungs of any real search, because each rung needs Divisor times as many
// trials as the next.
const maxRungs = 64

func (c Config) checkConfig() error {
	switch c.Method {
	case Single, Random, Grid, AsyncHalving, AdaptiveASHA:
	default:
		return fmt.Errorf("plan the search: unknown method %q", c.Method)
	}
	if c.MaxConcurrent < 0 {
		return fmt.Errorf("plan the search: max_concurrent_trials is %d; it must be at least 0", c.MaxConcurrent)
	}
	if n := c.countTrials(); n < 1 || n > most {
		return fmt.Errorf("plan the search: it has %d trials; it must have between 1 and %d", n, most)
	}
	if !c.Halving() {
		return nil
	}
	return c.checkHalving()
}

func (c Config) checkHalving() error {
	switch {
	case !(c.Divisor > 1):
		return fmt.Errorf("plan the search: divisor is %v; it must be more than 1", c.Divisor)
	case c.Rungs < 1 && (c.Method == AsyncHalving || len(c.BracketRungs) == 0):
		return fmt.Errorf("plan the search: it has %d rungs; it must have at least 1", c.Rungs)
	case c.MaxTime < 1:
		return fmt.Errorf("plan the search: max_time is %d; it must be at least 1", c.MaxTime)
	}
	for _, n := range append([]int{c.Rungs}, c.BracketRungs...) {
		if n < 0 || n > maxRungs {
			return fmt.Errorf("plan the search: a bracket has %d rungs; it must have at most %d", n, maxRungs)
		}
	}
	if c.Method == AsyncHalving {
		return nil
	}
	for _, n := range c.BracketRungs {
		if n < 1 {
			return fmt.Errorf("plan the search: a bracket has %d rungs; it must have at least 1", n)
		}
	}
	switch c.Mode {
	case Aggressive, Standard, Conservative:
		return nil
	}
	return fmt.Errorf("plan the search: unknown mode %q", c.Mode)
}

// countTrials returns the number of trials, not counting replaced ones.
func (c Config) countTrials() int {
	switch c.Method {
	case Single:
		return 1
	case Grid:
		return c.Space.Points()
	case Random, AsyncHalving, AdaptiveASHA:
	}
	return c.MaxTrials
}
