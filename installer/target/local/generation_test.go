package local_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/target/local"
)

// The step of a process that is restarted has the settings that it will read, old and new.
func TestPlanShowsTheSettingsOfAProcess(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	must(t, m.up(t.Context()))
	m.settings[local.SlotSetting], m.settings[local.ConfigSetting] = "4", "security: {visibility: private}\n"
	p, err := m.plan(t.Context())
	must(t, err)
	for id, want := range map[string]string{
		"local/agent/1":       "artificial_slots: 0 → 4",
		"local/master/master": "security.visibility: open → private",
	} {
		if got := diffOf(p, id); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}

// diffOf returns the differences of a step in one line.
func diffOf(p plan.Plan, id string) string {
	var out []string
	for _, s := range p.Steps {
		for _, d := range s.Diff {
			if s.ID == id {
				out = append(out, d.Path+": "+d.Have+" → "+d.Want)
			}
		}
	}
	return strings.Join(out, "; ")
}
