// Package metrics measures the cost of metric reports over HTTP from 64 clients, until each is
// stored together with the search's decisions.
package metrics

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/master"
	"github.com/det-deploy/det-deploy/test/postgrestest"
)

var program = flag.String("bin", "../../../bin/det-deploy", "the program to measure")

const callers = 64

// BenchmarkReports has one trial for each client, in one experiment or in as many experiments.
// Every tenth report is a validation. No trial runs: the clients report with the session of their
// owner.
func BenchmarkReports(b *testing.B) {
	for _, database := range []string{"sqlite", "postgresql"} {
		for _, experiments := range []int{1, callers} {
			b.Run(fmt.Sprintf("%s/%d_experiments", database, experiments), func(b *testing.B) {
				m := start(b, database)
				measure(b, m, m.trials(b, experiments))
			})
		}
	}
}

// measured is a master with concurrent clients.
type measured struct{ *master.Master }

func start(b *testing.B, database string) *measured {
	b.Helper()
	bin, err := filepath.Abs(*program)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		b.Skip("there is no program; run: make build")
	}
	more := ""
	if database == "postgresql" {
		more = "db: {url: \"" + postgrestest.Start(b, postgrestest.Options{Fsync: true}).URL() + "\"}"
	}
	m, err := master.Start(b.Context(), bin, more)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.Stop(); err != nil {
			b.Error(err)
		}
	})
	m.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	return &measured{m}
}

const configuration = `
name: bench
entrypoint: "true"
searcher: {name: grid, metric: loss, max_concurrent_trials: %[1]d}
hyperparameters: {n: {type: int, minval: 0, maxval: %[1]d, count: %[1]d}}
checkpoint_storage: {type: directory, container_path: /checkpoints}
resources: {slots_per_trial: 0}
`

// trials creates a trial for each client and returns their IDs.
func (m *measured) trials(b *testing.B, experiments int) []int {
	b.Helper()
	var ids []int
	for range experiments {
		config := fmt.Sprintf(configuration, callers/experiments)
		var made struct{ Experiment struct{ ID int } }
		if err := m.Ask(b.Context(), http.MethodPost, "experiments", map[string]any{"config": config, "activate": true}, &made); err != nil {
			b.Fatal(err)
		}
		var list struct{ Trials []struct{ ID int } }
		for began := time.Now(); len(list.Trials) < callers/experiments && time.Since(began) < time.Minute; master.Pause(b.Context(), 10*time.Millisecond) {
			if err := m.Ask(b.Context(), http.MethodGet, fmt.Sprintf("experiments/%d/trials", made.Experiment.ID), nil, &list); err != nil {
				b.Fatal(err)
			}
		}
		for _, t := range list.Trials {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) != callers {
		b.Fatalf("got %d trials, want %d", len(ids), callers)
	}
	return ids
}

func measure(b *testing.B, m *measured, trials []int) {
	b.Helper()
	took := make([][]time.Duration, callers)
	var wg sync.WaitGroup
	before := m.Processor()
	b.ResetTimer()
	for i, trial := range trials {
		wg.Go(func() {
			for step := 1; step <= 1+b.N/callers; step++ {
				group := "training"
				if step%10 == 0 {
					group = "validation"
				}
				began := time.Now()
				err := m.Ask(b.Context(), http.MethodPost, fmt.Sprintf("trials/%d/metrics", trial), map[string]any{"group": group, "metrics": map[string]any{
					"trialId": trial, "trialRunId": 1, "stepsCompleted": step,
					"metrics": map[string]any{"avgMetrics": map[string]any{"loss": 1 / float64(step), "accuracy": 0.5, "lr": 0.001, "epoch": float64(step) / 100}},
				}}, nil)
				if err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		return
	}
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	b.ReportMetric(float64((m.Processor()-before).Microseconds())/float64(len(all)), "µs-of-the-master/report")
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "reports/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}
