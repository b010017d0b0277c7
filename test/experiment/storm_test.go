package experiment_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/postgrestest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// stormTrials returns the number of trials of a storm: `make faults` sets it to 50, which takes
// half an hour.
func stormTrials() (n int, whole bool) {
	if n, err := strconv.Atoi(os.Getenv("DET_STORM_TRIALS")); err == nil && n > 0 {
		return n, true
	}
	return 6, false
}

// TestTrialsSurviveLossOfMasterAndMachine kills the master, an agent or both at every stage of a search.
func TestTrialsSurviveLossOfMasterAndMachine(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	trials, whole := stormTrials()
	for _, s := range []trialStorm{
		{name: "one after the other", slots: 1, length: 20 * time.Second},
		{name: "four at once on two machines", slots: 4, agents: 2},
		{name: "four at once on PostgreSQL", slots: 4, agents: 2, postgres: true},
	} {
		if s.length == 0 && !whole {
			continue
		}
		if whole {
			s.length = 10 * time.Minute
		}
		t.Run(s.name, func(t *testing.T) {
			s.trials = trials
			s.run(t)
		})
	}
}

// trialStorm is a search whose cluster is killed repeatedly, for length at most.
type trialStorm struct {
	name                  string
	trials, slots, agents int
	postgres              bool
	length                time.Duration
}

func (s trialStorm) run(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	o := options{agents: s.agents, slots: s.slots / max(s.agents, 1), tiny: true}
	if s.postgres {
		o.master = "db:\n  url: " + postgrestest.Start(t, postgrestest.Options{}).URL() + "\n"
	}
	l := openLab(t, o)
	calm := s.create(l)
	want := l.await(calm, "COMPLETED")
	l.wantSound(calm, s.trials)

	id := s.create(l)
	began, kills := time.Now(), s.killUntilOver(l, id, seed)
	got := l.await(id, "COMPLETED")
	l.wantSound(id, s.trials)
	t.Logf("%d trials, %d runs, %d kills in %v", len(got.Trials), strings.Count(l.history(id), " started run "), kills, time.Since(began).Round(time.Second))
	if s.slots > 1 {
		return // the trial that reports first, and so the ranks, depend on timing
	}
	if diff := cmp.Diff(l.searchOf(id, got), l.searchOf(calm, want)); diff != "" {
		t.Errorf("the search is another one than without kills (-got +want):\n%s", diff)
	}
}

func (s trialStorm) create(l *lab) string {
	return l.create("line", "asha.yaml", "hyperparameters.seconds_per_epoch=0.05", fmt.Sprintf("searcher.max_trials=%d", s.trials),
		fmt.Sprintf("searcher.max_concurrent_trials=%d", s.slots), "checkpoint_storage={save_trial_latest: 100}")
}

// killUntilOver kills until the experiment or the storm has ended, and returns the number of kills.
func (s trialStorm) killUntilOver(l *lab, id string, seed uint64) (kills int) {
	stop := make(chan struct{})
	calm := sync.OnceFunc(func() { close(stop) })
	defer calm()
	timer := time.AfterFunc(s.length, calm)
	defer timer.Stop()
	var names []string
	for name := range l.Agents {
		names = append(names, name)
	}
	slices.Sort(names)
	var storm sync.WaitGroup
	storm.Go(func() {
		kills = l.KillAgainAndAgain(stop, rand.New(rand.NewPCG(seed, 0)), 1500*time.Millisecond, names...)
	})
	storm.Go(func() {
		for clustertest.Pause(stop, time.Second) {
			if out, code := l.Try("experiment", "describe", id, "--output", "json"); code == 0 && strings.Contains(out, `"state": "succeeded"`) {
				calm()
			}
		}
	})
	storm.Wait()
	l.Eventually("the master answers once more", patience, func() error {
		if out, code := l.Try("experiment", "describe", id); code != 0 {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	return kills
}

// wantSound checks the invariants of a search of tiny programs after any sequence of kills.
func (l *lab) wantSound(id string, trials int) {
	l.t.Helper()
	e := l.describe(id)
	if len(e.Trials) != trials {
		l.t.Errorf("got %d trials, want %d", len(e.Trials), trials)
	}
	kept := map[string]bool{}
	for _, c := range l.saved(id) {
		kept[c.UUID] = c.State == "STATE_COMPLETED"
	}
	for _, trial := range e.Trials {
		if trial.State != "STATE_COMPLETED" || trial.Restarts != 0 {
			l.t.Errorf("got %+v, want it completed without a restart: no program failed\n%s", trial, l.history(id))
		}
		if text := l.wrote("twice", trial.ID); len(text) > 0 {
			l.t.Errorf("trial %d: %q", trial.ID, text)
		}
		for _, uuid := range l.wrote("saved", trial.ID) {
			if !kept[uuid] || !l.exists(uuid) {
				l.t.Errorf("trial %d: checkpoint %s was acknowledged and is lost", trial.ID, uuid)
			}
		}
		for _, group := range []string{"training", "validation"} {
			l.wantReported(trial.ID, group)
		}
	}
}

// wantReported checks that a trial has each epoch once, up to the last acknowledged one.
func (l *lab) wantReported(trial int, group string) {
	l.t.Helper()
	last := 0
	for _, line := range l.wrote("reported", trial) {
		if epoch, found := strings.CutPrefix(line, group+" "); found {
			n, err := strconv.Atoi(epoch)
			if err != nil {
				l.t.Fatal(err)
			}
			last = max(last, n)
		}
	}
	var want []int
	for epoch := range last {
		want = append(want, epoch+1)
	}
	got := l.steps(trial, group)
	if last == 0 || len(got) < last || !slices.Equal(got[:last], want) || len(slices.Compact(slices.Clone(got))) != len(got) {
		l.t.Errorf("trial %d, group %s: got epochs %v, want each of %d once", trial, group, got, last)
	}
}

// wrote returns the lines that the runs of a trial wrote for the test.
func (l *lab) wrote(name string, trial int) []string {
	text, _ := os.ReadFile(l.inStorage(fmt.Sprintf("%s-%d", name, trial))) // the file may not exist
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// numbered matches the ID of a trial in a sentence.
var numbered = regexp.MustCompile(`trial (\d+)`)

// searchOf returns the decisions of a search, one sentence each, with its trials numbered from 1.
func (l *lab) searchOf(id string, e experiment) []string {
	l.t.Helper()
	first := e.Trials[0].ID
	for _, t := range e.Trials {
		first = min(first, t.ID)
	}
	var out struct {
		Events []struct{ Kind, Text string }
	}
	l.call("experiments/"+id+"/history?limit=100000", &out)
	var said []string
	for _, event := range out.Events {
		if event.Kind == "searched" {
			said = append(said, numbered.ReplaceAllStringFunc(event.Text, func(name string) string {
				n, _ := strconv.Atoi(strings.TrimPrefix(name, "trial ")) // the pattern has matched
				return fmt.Sprintf("trial %d", n-first+1)
			}))
		}
	}
	if len(said) < len(e.Trials) {
		l.t.Errorf("got %q, want a decision for each of %d trials", said, len(e.Trials))
	}
	return said
}

// linkTiny copies the test binary to a directory as python3.
func linkTiny(t *testing.T) (dir string) {
	t.Helper()
	dir = sharedDir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()                                                                              //nolint:errcheck // it was read
	to, err := os.OpenFile(filepath.Join(dir, "python3"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // tasks run it
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
