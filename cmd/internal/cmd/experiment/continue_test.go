package experiment

import (
	"strings"
	"testing"
)

func TestOverlayKeepsTheConfigurationAndSetsOverrides(t *testing.T) {
	t.Parallel()
	got, err := overlay("name: a\nsearcher:\n  name: single\n  metric: loss\n", []string{"searcher.metric=accuracy", "resources.priority=3"})
	want := "name: a\nsearcher:\n    name: single\n    metric: accuracy\nresources:\n    priority: 3\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if got, err := overlay("", nil); err != nil || got != "" {
		t.Errorf("nothing to change: got %q, %v", got, err)
	}
	if _, err := overlay("", []string{"priority"}); err == nil || !strings.Contains(err.Error(), "--override priority: must be KEY=VALUE") {
		t.Errorf("got %v, want an error about the flag", err)
	}
}
