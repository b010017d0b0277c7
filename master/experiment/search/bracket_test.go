package search

import (
	"fmt"
	"testing"
)

// TestBrackets uses values computed by Determined 0.38.1.
func TestBrackets(t *testing.T) {
	adaptive := func(trials, concurrent int, time uint64, divisor float64, rungs int, mode Mode, explicit ...int) Config {
		return Config{
			Method: AdaptiveASHA, MaxTrials: trials, MaxConcurrent: concurrent, MaxTime: time, Divisor: divisor, Rungs: rungs,
			Mode: mode, BracketRungs: explicit, SmallerIsBetter: true,
		}
	}
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Method: Single}, "[{1 1 []}]"},
		{Config{Method: Random, MaxTrials: 9, MaxConcurrent: 16}, "[{9 9 []}]"},
		{Config{Method: Random, MaxTrials: 9}, "[{9 9 []}]"},
		{halving(50, 16), "[{50 16 [1 4 16]}]"},
		{halving(50, 0), "[{50 16 [1 4 16]}]"},
		{halving(5, 0), "[{5 5 [1 4 16]}]"},
		{adaptive(20, 0, 9, 3, 3, Conservative, 3, 2, 1), "[{12 3 [1 3 9]} {5 3 [3 9]} {3 3 [9]}]"},
		{adaptive(50, 0, 27, 3, 4, Standard, 3, 4), "[{35 15 [1 3 9 27]} {15 15 [3 9 27]}]"},
		{adaptive(100, 16, 64, 4, 5, Standard), "[{70 6 [1 4 16 64]} {22 5 [4 16 64]} {8 5 [16 64]}]"},
		{adaptive(100, 16, 64, 4, 5, Aggressive), "[{100 16 [1 4 16 64]}]"},
		{adaptive(1, 16, 64, 4, 5, Standard), "[{1 1 [64]}]"},
		{adaptive(2, 16, 64, 4, 5, Standard, 3, 2, 1), "[{1 1 [4 16 64]} {1 1 [16 64]}]"}, // never more than max_trials
		{adaptive(500, 2, 3, 4, 5, Conservative), "[{500 2 [3]}]"},
	} {
		got, err := c.config.Brackets()
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%+v:\n%v, %v\nwant %s", c.config, got, err, c.want)
		}
	}
}

func TestInvalidConfigs(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"method":              func(c *Config) { c.Method = "pbt" },
		"trials":              func(c *Config) { c.MaxTrials = 0 },
		"too many":            func(c *Config) { c.MaxTrials = most + 1 },
		"concurrent":          func(c *Config) { c.MaxConcurrent = -1 },
		"divisor":             func(c *Config) { c.Divisor = 1 },
		"rungs":               func(c *Config) { c.Rungs = 0 },
		"many rungs":          func(c *Config) { c.Rungs = 1000 },
		"no rungs of its own": func(c *Config) { c.Rungs, c.BracketRungs = 0, []int{2} },
		"time":                func(c *Config) { c.MaxTime = 0 },
		"mode":                func(c *Config) { c.Method, c.Mode = AdaptiveASHA, "" },
		"brackets":            func(c *Config) { c.Method, c.Mode, c.BracketRungs = AdaptiveASHA, Standard, []int{0} },
		"overflow": func(c *Config) {
			c.Method, c.Mode, c.BracketRungs, c.Divisor = AdaptiveASHA, Standard, []int{60}, 1e300
		},
	} {
		c := halving(9, 2)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
