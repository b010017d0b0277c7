package log_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func benchmarkBoth(b *testing.B, run func(b *testing.B, s *store.Store)) {
	b.Run("sqlite", func(b *testing.B) {
		run(b, storetest.Open(b, store.Config{Path: filepath.Join(b.TempDir(), "store.db")}))
	})
	b.Run("postgresql", func(b *testing.B) {
		run(b, storetest.Open(b, store.Config{URL: store.URL(postgrestest.Start(b, postgrestest.Options{Fsync: true}).URL())}))
	})
}

// BenchmarkAppend measures eight containers of eight tasks that each send 500 lines of some 90 bytes
// at a time and wait until they are durable.
func BenchmarkAppend(b *testing.B) {
	benchmarkBoth(b, func(b *testing.B, s *store.Store) {
		l := log.New(b.Context(), s)
		defer l.Close()
		const senders, lines = 8, 500
		b.ResetTimer()
		start := time.Now()
		errs := make(chan error)
		for i := range senders {
			go func() {
				var err error
				for j := range int64(b.N) {
					batch := log.Batch{Task: fmt.Sprint("task", i), Container: "c", FirstSeq: j * lines}
					for k := range lines {
						batch.Lines = append(batch.Lines, log.Line{
							At: time.UnixMicro(j*lines + int64(k)), Stdtype: "stdout", Source: "task", Level: log.Info,
							Text: fmt.Sprintf("epoch %d step %d loss %f accuracy %f learning rate 0.000100 throughput 812.5 samples/s", j, k, float64(k)/7, float64(j)/3),
						})
					}
					if _, e := l.Append(b.Context(), batch); e != nil {
						err = e
						break
					}
				}
				errs <- err
			}()
		}
		for range senders {
			if err := <-errs; err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*senders*lines)/time.Since(start).Seconds(), "lines/s")
	})
}

// BenchmarkFollow measures the time from an append of one line until its follower receives it.
func BenchmarkFollow(b *testing.B) {
	benchmarkBoth(b, func(b *testing.B, s *store.Store) {
		l := log.New(b.Context(), s)
		defer l.Close()
		ended, got := make(chan struct{}), make(chan struct{}, 1)
		go func() {
			defer close(got)
			for _, err := range l.Follow(b.Context(), log.Filter{Task: "t"}, ended) {
				if err != nil {
					return
				}
				got <- struct{}{}
			}
		}()
		var took []time.Duration
		b.ResetTimer()
		for i := range int64(b.N) {
			start := time.Now()
			if _, err := l.Append(b.Context(), log.Batch{Task: "t", FirstSeq: i, Lines: []log.Line{{Text: "line"}}}); err != nil {
				b.Fatal(err)
			}
			<-got
			took = append(took, time.Since(start))
		}
		close(ended)
		<-got
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	})
}
