// Package search decides which trials an experiment runs and which of them go on: single,
// random, grid, async_halving and adaptive_asha. Everything in it is a pure function of the
// configuration and of what happened; the seed comes in with the configuration.
//
// Decide says what follows from one piece of news, and Apply notes it. What was decided is kept
// as facts, each with its reason, so that a search is rebuilt from them (Replay) without deciding
// again: a later version never changes the past.
package search

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/experiment/hparam"
)

// Method is how an experiment searches.
type Method string

// The methods.
const (
	Single       Method = "single"
	Random       Method = "random"
	Grid         Method = "grid"
	AsyncHalving Method = "async_halving"
	AdaptiveASHA Method = "adaptive_asha"
)

// Mode is how early adaptive_asha stops trials.
type Mode string

// The modes.
const (
	Aggressive   Mode = "aggressive"
	Standard     Mode = "standard"
	Conservative Mode = "conservative"
)

// Config is what a search needs of an experiment's configuration. Plan says what is wrong with
// one.
type Config struct {
	Method Method
	Space  hparam.Space
	// Seed is reproducibility.experiment_seed.
	Seed uint32
	// MaxTrials is how many trials there are; grid and single know it themselves.
	MaxTrials int
	// MaxConcurrent is how many trials run at once; 0 is as many as the method wants.
	MaxConcurrent int

	// Metric is what trials are compared by, TimeMetric how far they are, and MaxTime how far
	// they go at most. Methods that stop nothing need none of them.
	Metric          string
	SmallerIsBetter bool
	TimeMetric      string
	MaxTime         uint64

	// Divisor is which part of a rung continues: one in Divisor.
	Divisor float64
	// Rungs is num_rungs of async_halving, and max_rungs of adaptive_asha.
	Rungs int
	Mode  Mode
	// BracketRungs takes the place of what Mode and Rungs say, when it is not empty.
	BracketRungs []int
}

// Halving says whether the method stops trials.
func (c Config) Halving() bool { return c.Method == AsyncHalving || c.Method == AdaptiveASHA }

// most bounds what one search creates, so that a mistyped number is refused and not run.
const most = hparam.Most

// maxRungs is more than any search has: a rung takes Divisor times the trials of the next.
const maxRungs = 64

func (c Config) checkConfig() error {
	switch c.Method {
	case Single, Random, Grid, AsyncHalving, AdaptiveASHA:
	default:
		return fmt.Errorf("plan the search: there is no method %q", c.Method)
	}
	if c.MaxConcurrent < 0 {
		return fmt.Errorf("plan the search: %d trials at once; it must be at least 0", c.MaxConcurrent)
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
	return fmt.Errorf("plan the search: there is no mode %q", c.Mode)
}

// countTrials is how many trials the search has, trials with impossible hyperparameters apart.
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
