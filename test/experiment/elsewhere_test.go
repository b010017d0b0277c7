package experiment_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/installed"
)

// laptop is a machine outside of the cluster with the library, on which a researcher runs a
// program.
type laptop struct {
	*lab

	python, checkpoints string
}

// openLaptop starts a master without an agent.
func openLaptop(t *testing.T) *laptop {
	t.Helper()
	home := installed.Environment(t, "the harness", "harness", "python3")
	c := clustertest.New(t, clustertest.Config{})
	c.StartMaster()
	l := &lab{Cluster: c, t: t}
	l.login("determined")
	return &laptop{lab: l, python: filepath.Join(home, "bin", "python3"), checkpoints: t.TempDir()}
}

// program returns the command of the example.
func (l *laptop) program(env ...string) *exec.Cmd {
	cmd := exec.CommandContext(l.t.Context(), l.python, filepath.Join(example("unmanaged"), "train.py"))
	cmd.Env = append(os.Environ(), "DET_MASTER="+l.URL, "DET_USER=determined", "DET_PASS="+clustertest.Password,
		"HOME="+l.t.TempDir(), "CHECKPOINTS="+l.checkpoints)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

func (l *laptop) train(fails bool, env ...string) {
	l.t.Helper()
	if out, err := l.program(env...).CombinedOutput(); (err != nil) != fails {
		l.t.Fatalf("train with %q: %v\n%s", env, err, out)
	}
}

// steps returns the steps of an experiment's checkpoints.
func (l *laptop) steps(id string) string {
	l.t.Helper()
	var out struct {
		Checkpoints []struct {
			State    string
			Metadata struct {
				Steps int `json:"steps_completed"`
			}
		}
	}
	l.call("experiments/"+id+"/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER", &out)
	var steps []string
	for _, c := range out.Checkpoints {
		steps = append(steps, fmt.Sprint(c.Metadata.Steps))
	}
	return strings.Join(steps, " ")
}

func TestAProgramOnALaptopIsAnExperiment(t *testing.T) {
	t.Parallel()
	l := openLaptop(t)
	l.train(true, "FAIL_AT=5")
	l.awaitState("1", "STATE_ERROR")
	l.train(false) // continues at 4
	e := l.awaitState("1", "STATE_COMPLETED")
	if len(e.Trials) != 1 || e.Trials[0].Restarts != 1 {
		t.Errorf("got %+v, want one trial that was restarted once", e)
	}
	if got := fmt.Sprint(l.validations(e.Trials[0].ID)); got != "[2 4 6 8 10 12]" && got != "[12 10 8 6 4 2]" {
		t.Errorf("got validations at %s, want each second epoch once", got)
	}
	if got := l.steps("1"); got != "2 4 6 8 10 12" {
		t.Errorf("got checkpoints at %s", got)
	}
	trial := fmt.Sprint(e.Trials[0].ID)
	l.det.Want([]string{"trial", "logs", trial}, "epoch 5 of 8", "resumed at epoch 4", "failed as it was asked to", "run 2 of trial 1 ended")
	l.det.Want([]string{"experiment", "list"}, "elsewhere", "COMPLETED", "determined")
	l.det.Want([]string{"trial", "describe", trial, "--metrics"}, "COMPLETED", "loss", "rate")
	l.det.Refused([]string{"experiment", "pause", "1"}, "it is unmanaged")

	l.searchOnALaptop()
	l.killALaptop()

	l.det.OK("", "experiment", "archive", "1")
	l.det.OK("yes\n", "experiment", "delete", "1")
	l.Eventually("the experiment is gone", patience, func() error {
		var list struct{ Experiments []struct{ ID int } }
		if l.call("experiments?limit=100", &list); len(list.Experiments) > 2 {
			return fmt.Errorf("there are %+v", list.Experiments)
		}
		return nil
	})
	if left, err := os.ReadDir(l.checkpoints); err != nil || len(left) == 0 {
		t.Errorf("got %v and %v, want the files left where they were saved", left, err)
	}
	l.train(false) // the name is available again
	if e := l.awaitState("4", "STATE_COMPLETED"); len(e.Trials) != 1 {
		t.Errorf("got %+v, want another experiment", e)
	}
}

// searchOnALaptop runs two programs at the same time that share an experiment.
func (l *laptop) searchOnALaptop() {
	l.t.Helper()
	var all []*exec.Cmd
	for i := range 2 {
		cmd := l.program("EXPERIMENT=search", fmt.Sprintf("TRIAL=%d", i), "EPOCHS=2")
		if err := cmd.Start(); err != nil {
			l.t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			l.t.Error(err)
		}
	}
	if e := l.awaitState("2", "STATE_COMPLETED"); len(e.Trials) != 2 {
		l.t.Errorf("got %+v, want two trials", e)
	}
}

// killALaptop kills an experiment while its program trains: the master rejects its next report, and
// the program exits.
func (l *laptop) killALaptop() {
	l.t.Helper()
	cmd := l.program("EXPERIMENT=killed", "EPOCHS=600", "SECONDS_PER_EPOCH=0.2")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.Eventually("it trains", patience, func() error {
		var list struct{ Experiments []struct{ ID int } }
		if l.call("experiments?limit=100", &list); len(list.Experiments) < 3 {
			return fmt.Errorf("there are %+v", list.Experiments)
		}
		if e := l.describe("3"); len(e.Trials) == 0 || len(l.validations(e.Trials[0].ID)) == 0 {
			return fmt.Errorf("there is %+v", e)
		}
		return nil
	})
	l.det.OK("", "experiment", "kill", "3")
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(out.String(), "ended by determined") {
			l.t.Errorf("got %v, want it to end with the reason:\n%s", err, out.String())
		}
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		l.t.Error("the program trains on after its experiment was killed")
	}
	l.awaitState("3", "STATE_CANCELED")
}

// awaitState waits until an experiment is in a state, from any earlier state.
func (l *laptop) awaitState(id, state string) experiment {
	l.t.Helper()
	var e experiment
	l.Eventually("experiment "+id+" is "+state, patience, func() error {
		if e = l.describe(id); e.State != state {
			b, _ := json.Marshal(e)
			return fmt.Errorf("%s\n%s", b, l.history(id))
		}
		return nil
	})
	return e
}
