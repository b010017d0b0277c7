package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// TestMetricsAreStoredOnce runs two programs for each trial that report the same metrics, like a
// second harness with the same token, and repeat unanswered reports, while responses are dropped,
// the master is killed, and its database is down.
func TestMetricsAreStoredOnce(t *testing.T) {
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		t.Run(database, func(t *testing.T) {
			if testing.Short() {
				t.Skip("takes half a minute; run without -short")
			}
			if database == "PostgreSQL" {
				rest.Only(t)
			}
			cfg, away := clusterConfig{}, func(*reporters) {}
			if database == "PostgreSQL" {
				server := postgrestest.Start(t, postgrestest.Options{})
				cfg.Master = "db:\n  url: " + server.URL() + "\n"
				away = func(r *reporters) {
					server.Stop()
					r.awaitFailures(t, 8)
					server.Launch()
				}
			}
			c := newCluster(t, cfg)
			c.StartMaster()
			r := &reporters{api: &rawAPI{t: t, url: c.URL}}
			trials := r.create(t, 4)
			var done sync.WaitGroup
			for i := range 2 * len(trials) {
				done.Go(func() { r.report(t, trials[i/2], rand.New(rand.NewPCG(uint64(i), 7))) })
			}
			const faults = 6
			for n := 1; n <= faults; n++ {
				r.awaitAnswers(t, int64(n*2*len(trials)*reportedSteps/(faults+1)))
				if n == 3 {
					away(r)
					continue
				}
				kill(c.Master)
				c.StartMaster()
			}
			done.Wait()
			for _, id := range trials {
				r.check(t, id)
			}
			t.Logf("%d reports were sent again, %d answers were lost", r.failures.Load(), r.lost.Load())
		})
	}
}

// reportedSteps is the number of steps that each trial reports; every tenth is also a validation.
const reportedSteps = 200

type reporters struct {
	api                     *rawAPI
	answers, failures, lost atomic.Int64
}

const storedOnce = `
name: stored once
entrypoint: "true"
searcher: {name: grid, metric: loss, max_concurrent_trials: %[1]d}
hyperparameters: {n: {type: int, minval: 1, maxval: %[1]d, count: %[1]d}}
checkpoint_storage: {type: directory, container_path: /checkpoints}
resources: {slots_per_trial: 0}
`

// create creates an experiment whose trials wait for an agent forever.
func (r *reporters) create(t *testing.T, trials int) []int {
	t.Helper()
	body, err := json.Marshal(map[string]any{"config": fmt.Sprintf(storedOnce, trials), "activate": true})
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Experiment struct{ ID int } }
	if err := json.Unmarshal(r.api.retry(http.MethodPost, "/api/v1/experiments", string(body)), &made); err != nil {
		t.Fatal(err)
	}
	var list struct{ Trials []struct{ ID int } }
	if err := json.Unmarshal(r.api.retry(http.MethodGet, fmt.Sprintf("/api/v1/experiments/%d/trials", made.Experiment.ID), ""), &list); err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, trial := range list.Trials {
		ids = append(ids, trial.ID)
	}
	if len(ids) != trials {
		t.Fatalf("got the trials %v, want %d", ids, trials)
	}
	return ids
}

// report sends every step until it is answered, like the harness.
func (r *reporters) report(t *testing.T, trial int, random *rand.Rand) {
	for step := 1; step <= reportedSteps; step++ {
		groups := []string{"training"}
		if step%10 == 0 {
			groups = append(groups, "validation")
		}
		for _, group := range groups {
			body := fmt.Sprintf(`{"group":%q,"metrics":{"trialId":%d,"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"loss":%d,"special":"NaN"}}}}`,
				group, trial, step, trial*1000+step)
			if err := r.send(fmt.Sprintf("/api/v1/trials/%d/metrics", trial), body, random); err != nil {
				t.Errorf("trial %d, step %d: %v", trial, step, err)
				return
			}
		}
		r.answers.Add(1)
	}
}

func (r *reporters) send(path, body string, random *rand.Rand) error {
	var last error
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		_, err := r.api.do(http.MethodPost, path, body)
		if err == nil && random.IntN(4) == 0 {
			r.lost.Add(1)
			err = errors.New("the answer was lost")
		}
		if err == nil {
			return nil
		}
		if strings.Contains(err.Error(), ": 4") { // a rejection is an answer
			return err
		}
		r.failures.Add(1)
		last = err
	}
	return last
}

func (r *reporters) awaitAnswers(t *testing.T, n int64) {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); r.answers.Load() < n && !t.Failed(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %d answers, want %d", r.answers.Load(), n)
		}
	}
}

// awaitFailures waits until n more calls have failed.
func (r *reporters) awaitFailures(t *testing.T, n int64) {
	t.Helper()
	before := r.failures.Load() - r.lost.Load()
	for end := time.Now().Add(2 * time.Minute); r.failures.Load()-r.lost.Load() < before+n; <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the database is away, and reports are answered")
		}
	}
}

// check compares the stored metrics of a trial with its reports.
func (r *reporters) check(t *testing.T, trial int) {
	t.Helper()
	for group, every := range map[string]int{"training": 1, "validation": 10} {
		raw := r.api.retry(http.MethodGet, fmt.Sprintf("/api/v1/trials/metrics/trial_metrics?group=%s&trialIds=%d", group, trial), "")
		step := 0
		for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
			var line struct {
				Result struct {
					Metrics []struct {
						TotalBatches int
						Metrics      map[string]map[string]any
					}
				}
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			for _, m := range line.Result.Metrics {
				step += every
				values := m.Metrics["avg_metrics"]
				if group == "validation" {
					values = m.Metrics["validation_metrics"]
				}
				if m.TotalBatches != step || values["loss"] != float64(trial*1000+step) || values["special"] != "NaN" {
					t.Fatalf("trial %d, %s: got %v at step %d, want step %d", trial, group, values, m.TotalBatches, step)
				}
			}
		}
		if step != reportedSteps {
			t.Errorf("trial %d, %s: got %d steps, want %d", trial, group, step, reportedSteps)
		}
	}
	r.checkSummary(t, trial)
}

func (r *reporters) checkSummary(t *testing.T, trial int) {
	t.Helper()
	var got struct {
		Trial struct {
			TotalBatchesProcessed int
			SummaryMetrics        map[string]map[string]map[string]any
		}
	}
	if err := json.Unmarshal(r.api.retry(http.MethodGet, fmt.Sprintf("/api/v1/trials/%d", trial), ""), &got); err != nil {
		t.Fatal(err)
	}
	loss := got.Trial.SummaryMetrics["avg_metrics"]["loss"]
	sum := reportedSteps*trial*1000 + reportedSteps*(reportedSteps+1)/2
	if got.Trial.TotalBatchesProcessed != reportedSteps || loss["count"] != float64(reportedSteps) || loss["sum"] != float64(sum) || loss["last"] != float64(trial*1000+reportedSteps) {
		t.Errorf("trial %d: got %d steps and the summary %v, want %d steps whose sum is %d", trial, got.Trial.TotalBatchesProcessed, loss, reportedSteps, sum)
	}
}
