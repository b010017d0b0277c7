package search

import "testing"

func TestProgress(t *testing.T) {
	random := Config{Method: Random, MaxTrials: 4, MaxConcurrent: 4, Metric: "loss"}
	reported := func(int) float64 { return 0.25 }
	for name, tt := range map[string]struct {
		config Config
		ends   []End
		want   float64
	}{
		"running":                {random, nil, 0.25},
		"one has failed":         {random, []End{Failed}, (1 + 3*0.25) / 4},
		"all failed":             {random, []End{Failed, Failed, Failed, Failed}, 0.25},
		"all were canceled":      {random, []End{Canceled, Canceled, Canceled, Canceled}, 0.25},
		"some failed":            {random, []End{Failed, Completed, Failed, Canceled}, 1},
		"all completed":          {random, []End{Completed, Completed, Completed, Completed}, 1},
		"a failed one of single": {Config{Method: Single, Metric: "loss"}, []End{Failed}, 0.25},
	} {
		s := start(t, tt.config)
		for i, end := range tt.ends {
			handle(t, s, Input{News: Ended, Trial: i + 1, End: end})
		}
		if got := s.Progress(reported); got != tt.want {
			t.Errorf("%s: got %g, want %g", name, got, tt.want)
		}
	}
}
