package experiment

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/metric"
)

// BenchmarkReports measures 64 trials that each wait until their report is stored with the decision
// of the search. Every tenth report is a validation.
func BenchmarkReports(b *testing.B) {
	w := newWorld(b)
	x := w.create(fmt.Sprintf("name: many\nentrypoint: train\nsearcher: {name: grid, metric: loss, max_concurrent_trials: 64}\n"+
		"hyperparameters: {n: {type: int, minval: 1, maxval: %[1]d, count: %[1]d}}\nresources: {slots_per_trial: 0}\n", 64))
	_, trials := w.get(x.ID)
	if len(trials) != 64 {
		b.Fatalf("got %d trials, want 64", len(trials))
	}
	var next atomic.Int64
	b.SetParallelism(32) // multiplied by GOMAXPROCS, which is 2 here
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		trial := trials[next.Add(1)-1]
		for step := int64(1); pb.Next(); step++ {
			r := metric.Report{
				Trial: int64(trial.ID), Run: 1, Group: metric.Training, Steps: step, At: time.UnixMicro(step),
				Values: metric.Values{Averages: map[string]any{"loss": 1 / float64(step), "accuracy": 0.5, "lr": 0.001, "epoch": float64(step) / 100}},
			}
			if step%10 == 0 {
				r.Group = metric.Validation
			}
			if err := w.x.Report(b.Context(), r); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reports/s")
}

// BenchmarkTrialTasks measures the authorization of a report in an experiment of 10,000 trials.
func BenchmarkTrialTasks(b *testing.B) {
	w := newWorld(b)
	w.createLarge(10_000)
	for b.Loop() {
		if of, err := w.x.TrialTasks(b.Context(), 5000); err != nil || of.Owner != ann().GetId() {
			b.Fatalf("got %+v, %v", of, err)
		}
	}
}
