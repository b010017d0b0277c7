package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// tiny configures trials whose program exits immediately.
const tiny = `
name: tiny
entrypoint: "true"
searcher: {name: grid, metric: loss, max_concurrent_trials: 64}
hyperparameters: {n: {type: int, minval: 1, maxval: %[1]d, count: %[1]d}}
resources: {slots_per_trial: 0}
environment: {environment_variables: [DET_PYTHON_EXECUTABLE=/bin/true]}
checkpoint_storage: {type: directory, container_path: /tmp}
max_restarts: 0
`

// listening configures one trial, or a search in which every trial is worse than the ones before.
const listening = `
name: listening
entrypoint: "true"
searcher: %[1]s
hyperparameters: {n: {type: int, minval: 1, maxval: 100}}
resources: {slots_per_trial: 0}
environment: {environment_variables: ["DET_PYTHON_EXECUTABLE=%[2]s", "BENCH_EVENTS=%[3]s/events", "BENCH_REPORTS=%[4]s"]}
bind_mounts: [{host_path: %[3]s, container_path: %[3]s}]
checkpoint_storage: {type: directory, container_path: /tmp}
max_restarts: 0
`

const (
	oneTrial = "{name: single, metric: loss}"
	halving  = "{name: async_halving, metric: loss, time_metric: epochs, max_time: 16, num_rungs: 2, max_trials: %d, max_concurrent_trials: 1}"
)

func (c *cluster) createExperiment(ctx context.Context, config string) (id int, err error) {
	b, err := c.call(ctx, "POST", "/api/v1/experiments", map[string]any{"config": config, "activate": true})
	if err != nil {
		return 0, err
	}
	var made struct{ Experiment struct{ ID int } }
	err = json.Unmarshal(b, &made)
	return made.Experiment.ID, err
}

// awaitState waits until the API returns the state for an experiment.
func (c *cluster) awaitState(ctx context.Context, id int, want string) error {
	state := ""
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; _ = wait.For(ctx, 100*time.Millisecond) {
		b, err := c.call(ctx, "GET", fmt.Sprintf("/api/v1/experiments?experimentIdFilter.incl=%d", id), nil)
		if err != nil {
			return err
		}
		var list struct{ Experiments []struct{ State string } }
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		if state = list.Experiments[0].State; state == "STATE_"+want {
			return nil
		}
		if state == "STATE_ERROR" {
			break
		}
	}
	return fmt.Errorf("experiment %d is %s and not %s", id, state, want)
}

// tinyTrials runs an experiment of n trials to its end. The processor time includes the master, the
// agent and their children.
func (c *cluster) tinyTrials(ctx context.Context, n int) (took, processor time.Duration, err error) {
	began, before := time.Now(), c.processor()
	id, err := c.createExperiment(ctx, fmt.Sprintf(tiny, n))
	if err != nil {
		return 0, 0, err
	}
	err = c.awaitState(ctx, id, "COMPLETED")
	return time.Since(began), c.processor() - before, err
}

// events is a directory to which trials write their events.
type events struct{ dir string }

func (c *cluster) newEvents() (events, error) {
	dir := filepath.Join(c.dir, "events")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // trials of any account write here
		return events{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "events"), nil, 0o600); err != nil {
		return events{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return events{}, err
	}
	b, err := os.ReadFile(self)
	if err != nil {
		return events{}, err
	}
	return events{dir}, errors.Join(
		os.Chmod(filepath.Join(dir, "events"), 0o666),              //nolint:gosec // as above
		os.WriteFile(filepath.Join(dir, "program"), b, 0o755),      //nolint:gosec // trials execute it
		os.Chmod(c.dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)) //nolint:gosec // as above
}

func (e events) config(searcher, reports string) string {
	return fmt.Sprintf(listening, searcher, e.dir+"/program", e.dir, reports)
}

// event is one line that a trial wrote.
type event struct {
	what       string
	trial, run int
	at         time.Time
}

func (e events) read() (all []event, err error) {
	f, err := os.Open(filepath.Join(e.dir, "events"))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	for s := bufio.NewScanner(f); s.Scan(); {
		var one event
		var ns int64
		if _, err := fmt.Sscan(s.Text(), &one.what, &one.trial, &one.run, &ns); err != nil {
			return nil, err
		}
		one.at = time.Unix(0, ns)
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.at.Compare(b.at) })
	return all, nil
}

// await waits until n events of a kind were written, and returns them.
func (e events) await(ctx context.Context, what string, n int) (some []event, err error) {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end) && ctx.Err() == nil; _ = wait.For(ctx, 20*time.Millisecond) {
		all, err := e.read()
		if err != nil {
			return nil, err
		}
		some = slices.DeleteFunc(all, func(one event) bool { return one.what != what })
		if len(some) >= n {
			return some, nil
		}
	}
	return nil, fmt.Errorf("%d trials wrote %q, and not %d", len(some), what, n)
}

// pauses pauses n experiments at once and returns for each the time from the request until its
// program received the signal.
func (c *cluster) pauses(ctx context.Context, n int) ([]time.Duration, error) {
	e, err := c.newEvents()
	if err != nil {
		return nil, err
	}
	ids := make([]int, n)
	for i := range ids {
		if ids[i], err = c.createExperiment(ctx, e.config(oneTrial, "")); err != nil {
			return nil, err
		}
	}
	if _, err = e.await(ctx, "start", n); err != nil {
		return nil, err
	}
	_ = wait.For(ctx, time.Second) // all of them listen
	asked := map[int]time.Time{}
	for _, id := range ids {
		trial, err := c.trialOf(ctx, id)
		if err != nil {
			return nil, err
		}
		asked[trial] = time.Now()
		if _, err := c.call(ctx, "POST", fmt.Sprintf("/api/v1/experiments/%d/pause", id), nil); err != nil {
			return nil, err
		}
	}
	heard, err := e.await(ctx, "heard", n)
	var took []time.Duration
	for _, one := range heard {
		took = append(took, one.at.Sub(asked[one.trial]))
	}
	slices.Sort(took)
	for _, id := range ids {
		if _, bad := c.call(ctx, "POST", fmt.Sprintf("/api/v1/experiments/%d/kill", id), nil); bad != nil {
			return nil, bad
		}
	}
	return took, err
}

func (c *cluster) trialOf(ctx context.Context, experiment int) (int, error) {
	b, err := c.call(ctx, "GET", fmt.Sprintf("/api/v1/experiments/%d/trials", experiment), nil)
	if err != nil {
		return 0, err
	}
	var list struct{ Trials []struct{ ID int } }
	if err := json.Unmarshal(b, &list); err != nil || len(list.Trials) != 1 {
		return 0, fmt.Errorf("experiment %d has %d trials: %w", experiment, len(list.Trials), err)
	}
	return list.Trials[0].ID, nil
}

// stops runs a search of n trials, one after the other. For each trial that the search stopped it
// returns the time from the report that caused it to the start of the next trial's program.
func (c *cluster) stops(ctx context.Context, n int) (took []time.Duration, err error) {
	e, err := c.newEvents()
	if err != nil {
		return nil, err
	}
	id, err := c.createExperiment(ctx, e.config(fmt.Sprintf(halving, n), "1"))
	if err != nil {
		return nil, err
	}
	if err := c.awaitState(ctx, id, "COMPLETED"); err != nil {
		return nil, err
	}
	all, err := e.read()
	if err != nil {
		return nil, err
	}
	for i, one := range all {
		// report, heard, and the start of the next.
		if one.what == "report" && i+2 < len(all) && all[i+1].what == "heard" && all[i+1].trial == one.trial && all[i+2].what == "start" {
			took = append(took, all[i+2].at.Sub(one.at))
		}
	}
	if len(took) == 0 {
		return nil, fmt.Errorf("no trial of experiment %d was stopped; its events: %v", id, strings.TrimSpace(fmt.Sprint(all)))
	}
	slices.Sort(took)
	return took, nil
}
