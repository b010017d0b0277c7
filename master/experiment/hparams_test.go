package experiment

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// hparams returns the hyperparameters that the program of a trial receives.
func (w *world) hparams(trial int32) map[string]float64 {
	w.Helper()
	b, err := w.trial(trial).ReadHparams(w.Context(), w.store)
	if err != nil {
		w.Fatal(err)
	}
	var out map[string]float64
	if err := json.Unmarshal(b, &out); err != nil {
		w.Fatal(err)
	}
	return out
}

func TestHyperparametersDependOnSeed(t *testing.T) {
	t.Parallel()
	for method, searcher := range map[string]string{
		"random":        "{name: random, metric: loss, max_trials: 5, max_concurrent_trials: 3}",
		"grid":          "{name: grid, metric: loss, max_concurrent_trials: 3}",
		"async_halving": "{name: async_halving, metric: loss, time_metric: epochs, max_time: 16, num_rungs: 3, max_trials: 6, max_concurrent_trials: 3}",
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(fmt.Sprintf(`
name: drawn
entrypoint: python3 train.py
searcher: %s
hyperparameters: {lr: {type: double, minval: 0, maxval: 1, count: 3}, layers: {type: int, minval: 1, maxval: 9, count: 2}}
reproducibility: {experiment_seed: 7}
`, searcher))
			c, _, err := loadConfig(t.Context(), w.store, 1)
			if err != nil {
				t.Fatal(err)
			}
			preview, err := c.Search().Preview(4)
			if err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				for i := range int32(3) {
					got, want := w.hparams(i+1), preview.First[i].Values
					if fmt.Sprint(got["lr"], got["layers"]) != fmt.Sprint(want["lr"], want["layers"]) {
						t.Errorf("round %d: trial %d has %v, the seed draws %v", round, i+1, got, want)
					}
				}
				w.restart()
			}
			w.exit(w.place(1), 0)
			if got, want := w.hparams(4), preview.First[3].Values; fmt.Sprint(got["lr"], got["layers"]) != fmt.Sprint(want["lr"], want["layers"]) {
				t.Errorf("trial 4 has %v, the seed draws %v", got, want)
			}
		})
	}
}

func TestHyperparametersOfEarlierVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(halving)
	old := w.trial(1)
	old.Hparams = map[string]any{"lr": 0.25}
	if got, err := old.ReadHparams(t.Context(), w.store); err != nil || string(got) != `{"lr":0.25}` {
		t.Errorf("got %s and %v, want those kept with the trial", got, err)
	}
}

// TestHyperparametersOfTrialsStayOutOfMemory measures the heap and is therefore not parallel.
func TestHyperparametersOfTrialsStayOutOfMemory(t *testing.T) {
	w := newWorld(t)
	const names, trials = 500, 400
	var space strings.Builder
	for i := range names {
		fmt.Fprintf(&space, "  h%d: {type: double, minval: 0, maxval: 1}\n", i)
	}
	yaml := fmt.Sprintf("name: wide\nentrypoint: python3 train.py\nsearcher: {name: random, metric: loss, max_trials: %d, max_concurrent_trials: %d}\nhyperparameters:\n%s", trials, trials, space.String())
	before := heap()
	if _, err := w.x.Create(t.Context(), Order{By: ann(), Config: yaml, Activate: true}); err != nil {
		t.Fatal(err)
	}
	grown := (heap() - before) / trials
	if one := w.hparams(trials); len(one) != names {
		t.Errorf("trial %d has %d hyperparameters, want %d", trials, len(one), names)
	}
	if most := 10_000; grown > most {
		t.Errorf("%d bytes of memory a trial with %d hyperparameters, want at most %d", grown, names, most)
	}
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // the heap is smaller than 2^63 bytes
}
