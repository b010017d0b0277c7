package server

import (
	"strings"
	"testing"
)

// twoExperiments reports two experiments with ten trials.
type twoExperiments struct{ Experiments }

func (twoExperiments) Count() (map[string]int, int, int) {
	return map[string]int{"running": 1, "completed": 1, "error": 0}, 3, 7
}

func TestExperimentsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Experiments = twoExperiments{} })
	page := w.ask(t, "GET", "/metrics", "", "").Body.String()
	for _, want := range []string{
		`det_deploy_experiments{state="running"} 1`, `det_deploy_experiments{state="error"} 0`,
		`det_deploy_trials{state="open"} 3`, `det_deploy_trials{state="ended"} 7`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("got no %s", want)
		}
	}
}
