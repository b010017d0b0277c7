package metric_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// BenchmarkPut measures 64 trials that each wait until their report is durable.
func BenchmarkPut(b *testing.B) {
	run := func(b *testing.B, cfg store.Config) {
		s := storetest.Open(b, cfg)
		m := metric.Open(s)
		var trials atomic.Int64
		b.SetParallelism(32) // multiplied by GOMAXPROCS, which is 2 here
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			trial := trials.Add(1)
			for i := int64(1); pb.Next(); i++ {
				r := metric.Report{
					Trial: trial, Run: 1, Group: metric.Training, Steps: i, At: time.UnixMicro(i),
					Values: metric.Values{Averages: map[string]any{"loss": 1 / float64(i), "accuracy": 0.5, "lr": 0.001, "epoch": float64(i) / 100}},
				}
				err := s.Write(b.Context(), func(tx *store.Tx) error {
					_, err := m.Put(b.Context(), tx, r)
					return err
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reports/s")
	}
	b.Run("sqlite", func(b *testing.B) { run(b, store.Config{Path: filepath.Join(b.TempDir(), "store.db")}) })
	b.Run("postgresql", func(b *testing.B) {
		run(b, store.Config{URL: store.URL(postgrestest.Start(b, postgrestest.Options{Fsync: true}).URL())})
	})
}

// BenchmarkSummary measures the summary of a trial with 10,000 reports, after one new report, and
// after a restart.
func BenchmarkSummary(b *testing.B) {
	s := storetest.New(b)
	m := metric.Open(s)
	put := func(from, to int64) {
		err := s.Write(b.Context(), func(tx *store.Tx) error {
			for i := from; i < to; i++ {
				r := metric.Report{Trial: 1, Run: 1, Group: metric.Training, Steps: i, Values: metric.Values{Averages: map[string]any{"loss": 1 / float64(i), "lr": 0.1}}}
				if _, err := m.Put(b.Context(), tx, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	put(1, 10_000)
	for name, of := range map[string]func() *metric.Metrics{
		"kept": func() *metric.Metrics { return m }, "read": func() *metric.Metrics { return metric.Open(s) },
	} {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				if name == "kept" {
					put(int64(20_000+i), int64(20_001+i))
				}
				if _, err := of().Summary(b.Context(), 1); err != nil {
					b.Fatal(fmt.Errorf("summary %d: %w", i, err))
				}
			}
		})
	}
}
