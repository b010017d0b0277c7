package k8s_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

// patience limits the wait for events that take seconds on an idle machine.
const patience = 5 * time.Minute

// researcher trains on a cluster with the unmodified client.
type researcher struct {
	t   *testing.T
	c   *kubetest.Cluster
	det *dettest.Client
	// url is the address of the master, and namespace that of tasks.
	url, namespace string
	token          string
}

// on returns the same researcher for a subtest.
func (r *researcher) on(t *testing.T) *researcher {
	other := *r
	other.t, other.c, other.det = t, r.c.For(t), r.det.On(t)
	return &other
}

var created = regexp.MustCompile(`Created experiment (\d+)`)

// create creates an experiment of docs/examples/experiments, such as line/single.yaml; settings
// have the form "searcher.max_trials=4".
func (r *researcher) create(file string, settings ...string) string {
	r.t.Helper()
	path := installed.InProject("docs", "examples", "experiments", file)
	args := []string{"experiment", "create", path, filepath.Dir(path)}
	for _, s := range settings {
		args = append(args, "--config", s)
	}
	out := r.det.OK("", args...)
	id := created.FindStringSubmatch(out)
	if id == nil {
		r.t.Fatalf("no experiment in %q", out)
	}
	return id[1]
}

// trial is a trial in the API.
type trial struct {
	ID       int    `json:"id"`
	State    string `json:"state"`
	Restarts int    `json:"restarts"`
}

func (r *researcher) api() dettest.API { return dettest.API{URL: r.url, Token: r.token} }

// call sends a request to the API and decodes the response.
func (r *researcher) call(path string, into any) {
	r.t.Helper()
	r.api().Call(r.t, path, into)
}

// only returns the single trial of an experiment.
func (r *researcher) only(id string) trial {
	r.t.Helper()
	var out struct{ Trials []trial }
	r.call("experiments/"+id+"/trials", &out)
	if len(out.Trials) != 1 {
		r.t.Fatalf("experiment %s: got trials %+v, want one", id, out.Trials)
	}
	return out.Trials[0]
}

// await waits until an experiment is in a state.
func (r *researcher) await(id, state string) {
	r.t.Helper()
	r.eventually("experiment "+id+" is "+state, func() error {
		var out struct{ Experiment struct{ State string } }
		r.call("experiments/"+id, &out)
		switch out.Experiment.State {
		case "STATE_" + state:
			return nil
		case "STATE_ERROR":
			r.t.Fatalf("experiment %s failed:\n%s", id, r.logs(id))
		}
		return errors.New(out.Experiment.State)
	})
}

// logs returns the log of an experiment's trial.
func (r *researcher) logs(id string) string {
	r.t.Helper()
	var out strings.Builder
	for lines := json.NewDecoder(bytes.NewReader(r.api().Read(r.t, fmt.Sprintf("trials/%d/logs", r.only(id).ID)))); ; {
		var line struct{ Result struct{ Log string } }
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			r.t.Fatal(err)
		}
		fmt.Fprintln(&out, line.Result.Log)
	}
}

// awaitLog waits until the trial of an experiment has written each of the words the given number of
// times.
func (r *researcher) awaitLog(id string, times int, words ...string) string {
	r.t.Helper()
	var out string
	r.eventually(fmt.Sprintf("the log has %q %d times", words, times), func() error {
		out = r.logs(id)
		for _, w := range words {
			if strings.Count(out, w) < times {
				return errors.New(out)
			}
		}
		return nil
	})
	return out
}

// validations returns the sorted steps of the validations of an experiment's trial.
func (r *researcher) validations(id string) []int {
	r.t.Helper()
	var out struct {
		Workloads []struct{ Validation *struct{ TotalBatches int } }
	}
	r.call(fmt.Sprintf("trials/%d/workloads?limit=10000&filter=FILTER_OPTION_VALIDATION", r.only(id).ID), &out)
	var steps []int
	for _, w := range out.Workloads {
		if w.Validation != nil {
			steps = append(steps, w.Validation.TotalBatches)
		}
	}
	slices.Sort(steps)
	return steps
}

// awaitEpochs waits until the trial of an experiment has validated at least n times, and returns
// the number of validations.
func (r *researcher) awaitEpochs(id string, n int) int {
	r.t.Helper()
	have := 0
	r.eventually(fmt.Sprintf("experiment %s has trained %d epochs", id, n), func() error {
		if have = len(r.validations(id)); have < n {
			return errors.New(r.logs(id))
		}
		return nil
	})
	return have
}

// wantUnbroken reports an error if an epoch is missing or was counted twice, or if a restart was
// counted: an interruption is not a failure of the program.
func (r *researcher) wantUnbroken(id string) {
	r.t.Helper()
	steps := r.validations(id)
	for i, step := range steps {
		if step != i+1 {
			r.t.Errorf("experiment %s: got validations at %d, want each epoch once", id, steps)
			break
		}
	}
	if n := r.only(id).Restarts; n != 0 {
		r.t.Errorf("experiment %s: got %d restarts, want none", id, n)
	}
}

// pod returns the name of the running pod of an experiment's trial.
func (r *researcher) pod(id string) string {
	r.t.Helper()
	var name string
	r.eventually("experiment "+id+" has a pod that runs", func() error {
		out, err := r.c.Try("get", "pods", "-n", r.namespace, "-l", "determined", "--field-selector=status.phase=Running",
			"-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.labels.determined}{"\n"}{end}`)
		for line := range strings.Lines(out) {
			if f := strings.Fields(line); len(f) == 2 && strings.HasPrefix(f[1], id+".") {
				name = f[0]
				return nil
			}
		}
		return fmt.Errorf("got %q, %w", out, err)
	})
	return name
}

func (r *researcher) eventually(what string, try func() error) {
	r.t.Helper()
	(&person{t: r.t, c: r.c}).eventually(what, patience, try)
}
