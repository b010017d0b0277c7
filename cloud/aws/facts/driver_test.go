package facts_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/aws/facts"
)

func TestStockImageSupportsTuringAndLater(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		maker, gpu string
		want       facts.Fit
		why        string
	}{
		{"NVIDIA", "K80", facts.FitsNot, "Kepler"},
		{"NVIDIA", "M60", facts.FitsNot, "Maxwell"},
		{"NVIDIA", "V100", facts.FitsNot, "requires Turing or newer"},
		{"NVIDIA", "T4", facts.Fits, ""},
		{"NVIDIA", "T4g", facts.Fits, ""},
		{"NVIDIA", "A10G", facts.Fits, ""},
		{"NVIDIA", "H100", facts.Fits, ""},
		{"NVIDIA", "X900", facts.FitsMay, "X900"},
		{"AMD", "Radeon Pro V520", facts.FitsNot, "AMD"},
		{"Habana", "Gaudi HL-205", facts.FitsNot, "Habana"},
	} {
		fit, why := facts.AgentStock().Fit(facts.Type{Name: "x1.large", GPUs: 1, GPU: tc.gpu, Maker: tc.maker})
		if fit != tc.want || !strings.Contains(why, tc.why) {
			t.Errorf("%s %s: got %s, %q; want %s", tc.maker, tc.gpu, fit, why, tc.want)
		}
	}
	if fit, _ := facts.AgentStock().Fit(facts.Type{Name: "m6i.large"}); fit != facts.Fits {
		t.Errorf("no GPU: got %s, want it to fit", fit)
	}
}
