package experiment

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
)

// large returns a configuration with the given number of concurrent trials.
func large(trials int) string {
	return fmt.Sprintf(`
name: large
entrypoint: python3 train.py
searcher: {name: async_halving, metric: loss, time_metric: epochs, max_time: 16, num_rungs: 3, max_trials: %d, max_concurrent_trials: %d}
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}
`, 2*trials, trials)
}

// createLarge creates the experiment without starting its tasks.
func (w *world) createLarge(trials int) {
	w.Helper()
	if _, err := w.x.Create(w.Context(), Order{By: ann(), Config: large(trials), Activate: true}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) reportFirst(trial int32) {
	w.Helper()
	err := w.x.Report(w.Context(), metric.Report{
		Trial: int64(trial), Run: 1, Group: metric.Validation, Steps: 1, At: w.now,
		Values: metric.Values{Averages: map[string]any{"loss": float64(trial%997) / 997, "epochs": 1.0}},
	})
	if err != nil {
		w.Fatal(err)
	}
}

// BenchmarkReportAmongTenThousandTrials measures one validation from the call until it is decided
// and stored.
func BenchmarkReportAmongTenThousandTrials(b *testing.B) {
	w := newWorld(b)
	const trials = 10_000
	w.createLarge(trials)
	next := int32(1)
	for b.Loop() {
		w.reportFirst(next)
		next++
	}
}

// putEnded stores an ended experiment.
func putEnded(tx *store.Tx, id int32) error {
	x := record.Experiment{
		ID: id, State: lifecycle.Completed, Name: fmt.Sprintf("ended %d", id), UserID: 7, Username: "ann", JobID: fmt.Sprintf("job-%d", id), ProjectID: 1,
		Started: time.Unix(int64(id), 0), Ended: time.Unix(int64(id)+60, 0), Progress: 1, Trials: 16,
		Queue: record.Queue{Pool: "gpu", Slots: 1, Weight: 1}, Searcher: record.Searcher{Name: "adaptive_asha", Metric: "loss", SmallerIsBetter: true},
		Best: &record.Best{Trial: id, Steps: 100, Metric: 0.25}, Events: 40,
	}
	return putExperiment(tx, x)
}

// BenchmarkRestart opens 10,000 ended experiments and 100 running ones, one of which has 10,000
// trials, half of them compared.
func BenchmarkRestart(b *testing.B) {
	w := newWorld(b)
	w.createLarge(10_000)
	for id := range int32(5000) {
		w.reportFirst(id + 1)
	}
	for range 99 {
		w.createLarge(16)
	}
	for from := int32(1000); from < 11_000; from += 500 {
		err := w.store.Write(b.Context(), func(tx *store.Tx) error {
			for id := from; id < from+500; id++ {
				if err := putEnded(tx, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s := &shared{cfg: w.x.reconciler.cfg, reg: newRegistry(), dirty: newDirty()}
		if err := s.loadAll(b.Context()); err != nil {
			b.Fatal(err)
		}
		if n := len(s.reg.all()); n != 10_100 {
			b.Fatalf("got %d experiments, want 10,100", n)
		}
	}
}

// BenchmarkList lists all of 10,000 ended experiments.
func BenchmarkList(b *testing.B) {
	w := newWorld(b)
	for id := range int32(10_000) {
		x := record.Experiment{ID: id + 1, State: lifecycle.Completed, Name: "x"}
		w.x.reconciler.reg.add(&entry{id: id + 1, rec: &x})
	}
	for b.Loop() {
		if n := len(w.x.Rows(Filter{Name: "x"})); n != 10_000 {
			b.Fatalf("got %d", n)
		}
	}
}

// BenchmarkTrainingReports measures 64 programs that report training metrics, of one experiment each
// or all of the same. A report is answered after it is stored.
func BenchmarkTrainingReports(b *testing.B) {
	for name, experiments := range map[string]int{"one": 1, "many": 64} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			for range experiments {
				w.createLarge(64 / experiments)
			}
			var next atomic.Int64
			b.SetParallelism(64)
			b.RunParallel(func(p *testing.PB) {
				trial := next.Add(1)%64 + 1
				for steps := int64(1); p.Next(); steps++ {
					err := w.x.Report(b.Context(), metric.Report{
						Trial: trial, Run: 1, Group: metric.Training, Steps: steps*128 + next.Load(), At: w.now,
						Values: metric.Values{Averages: map[string]any{"loss": float64(steps)}},
					})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reports/s")
		})
	}
}
