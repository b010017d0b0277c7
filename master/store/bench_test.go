package store_test

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// BenchmarkWrite measures 64 callers that each wait until their document is durable.
func BenchmarkWrite(b *testing.B) {
	run := func(b *testing.B, cfg store.Config) {
		s := storetest.Open(b, cfg)
		b.SetParallelism(32) // multiplied by GOMAXPROCS, which is 2 here
		b.ResetTimer()
		start := time.Now()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				err := s.Write(b.Context(), func(tx *store.Tx) error {
					return fruits.Put(tx, strconv.Itoa(i), "parent", start, fruit{Name: "a document of some size", Size: i})
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "writes/s")
	}
	b.Run("sqlite", func(b *testing.B) { run(b, store.Config{Path: filepath.Join(b.TempDir(), "store.db")}) })
	b.Run("postgresql", func(b *testing.B) {
		run(b, store.Config{URL: store.URL(postgrestest.Start(b, postgrestest.Options{Fsync: true}).URL())})
	})
}

// BenchmarkOpenEmpty measures a first start: create, migrate, acquire the lease, close.
func BenchmarkOpenEmpty(b *testing.B) {
	for i := range b.N {
		s, err := store.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), strconv.Itoa(i), "store.db")})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Acquire(b.Context(), "bench"); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
