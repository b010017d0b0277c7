package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/jupyter"
)

// The table of the walk, the list of the client's commands, and the program that prints this list.
const (
	walkTable   = "testdata/det/walk.txt"
	walkLeaves  = "testdata/det/leaves.txt"
	walkPrinter = "testdata/det/leaves.py"
)

// outcome is the result of an invocation of the client.
type outcome string

const (
	works      outcome = "works"
	refused    outcome = "refused"
	notBuilt   outcome = "501"
	clientOnly outcome = "client"
)

// step is a row of the table.
type step struct {
	line  int
	want  outcome
	args  string
	stdin string
	says  string
}

var stepLine = regexp.MustCompile(`^(works|refused|501|client) +(.+?)(?: < (.+?))?(?: => (.+))?$`)

func readWalk(t *testing.T) (steps []step) {
	t.Helper()
	for i, l := range readLines(t, walkTable) {
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		m := stepLine.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("%s:%d: %q is no row", walkTable, i+1, l)
		}
		s := step{line: i + 1, want: outcome(m[1]), args: m[2], says: m[4]}
		if m[3] != "" {
			s.stdin = strings.ReplaceAll(m[3], `\n`, "\n") + "\n"
		}
		if (s.want == refused || s.want == clientOnly) && s.says == "" {
			t.Errorf("%s:%d: %q lacks the reason of the refusal", walkTable, i+1, l)
		}
		steps = append(steps, s)
	}
	return steps
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// walkResult is the output of an invocation.
type walkResult struct {
	Failed bool
	Out    string
}

// outcome classifies a result. Some commands of the client print an error of the master and
// succeed.
func (r walkResult) outcome() outcome {
	switch {
	case strings.Contains(r.Out, "is not built in this version of det-deploy"):
		return notBuilt
	case strings.Contains(r.Out, "Traceback"), r.Failed && strings.Contains(r.Out, "usage: det"):
		return clientOnly
	case r.Failed, strings.Contains(r.Out, "Skipping: "):
		return refused
	}
	return works
}

// fits reports whether a row expects the outcome. Errors of the client and of the master often look
// alike, except if the client crashed.
func (s step) fits(r walkResult) bool {
	got := r.outcome()
	if s.want == clientOnly && got == refused {
		got = clientOnly
	}
	for says := range strings.SplitSeq(s.says, " | ") {
		if !strings.Contains(r.Out, says) {
			return false
		}
	}
	return got == s.want
}

// walker runs the client with the rows of the table.
type walker struct {
	t   *testing.T
	det *dettest.Client
}

func (w *walker) run(s step) (r walkResult) {
	out, err := w.det.ExecLine(s.stdin, s.args)
	return walkResult{Failed: err != nil, Out: out}
}

// ok runs the client once and fails the test if the client fails.
func (w *walker) ok(args, stdin string) string {
	w.t.Helper()
	r := w.run(step{args: args, stdin: stdin})
	if r.Failed {
		w.t.Fatalf("det %s failed\n%s", args, r.Out)
	}
	return r.Out
}

var taskID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// scenery creates the objects that the rows of the table refer to, and returns a replacer for their
// placeholders.
func (w *walker) scenery(c *cluster) *strings.Replacer {
	w.t.Helper()
	dir := w.t.TempDir()
	for name, text := range map[string]string{
		"context/hello.txt": "hello from the context\n",
		"notebook.yaml":     jupyter.Settings(w.t),
		"command.yaml":      "description: from a file\nresources: {slots: 0}\n",
		"generic.yaml":      "description: long\nentrypoint: sleep 3600\nresources: {slots: 0}\n",
		"short.yaml":        "entrypoint: cat hello.txt\nresources: {slots: 0}\n",
		"unknown.yaml":      "resorces: {slots: 0}\n",
		"experiment.yaml":   w.experimentConfig(filepath.Join(dir, "checkpoints")),
		"template.yaml":     "resources: {slots: 0}\nmax_restarts: 1\nenvironment:\n  environment_variables: [SHOULDBE=SET]\n",
		"tiny.yaml": "name: tiny\nworkspace: gallery\nproject: vision\nentrypoint: [\"true\"]\nsearcher: {name: single, metric: loss}\n" +
			"checkpoint_storage: {type: directory, container_path: /tmp}\nresources: {slots_per_trial: 0}\n",
		"search.yaml":         "searcher: {name: adaptive_asha, metric: loss, time_metric: epochs, max_time: 64, max_trials: 16}\n",
		"unknown-search.yaml": "searcher: {name: random, metric: loss, max_trials: 3, max_trails: 4}\n",
		"model/train.py":      trainingProgram,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	launch := "command run --detach --config resources.slots=0 "
	ended := taskID.FindString(w.ok(launch+"echo hello from the ended task", ""))
	running := taskID.FindString(w.ok(launch+"sleep 3600", ""))
	generic := taskID.FindString(w.ok("task create "+dir+"/generic.yaml --context "+dir+"/context", ""))
	notebook := taskID.FindString(w.ok("notebook start --detach --config-file "+dir+"/notebook.yaml", ""))
	shell := taskID.FindString(w.ok("shell start --detach --config resources.slots=0", ""))
	for id, state := range map[string]string{ended: "TERMINATED", running: "RUNNING"} {
		c.Eventually("command "+id+" is "+state, time.Minute, func() error {
			if out := w.ok("command describe "+id, ""); !strings.Contains(out, state) {
				return fmt.Errorf("it is not: %s", out)
			}
			return nil
		})
	}
	w.ok("experiment create "+dir+"/experiment.yaml "+dir+"/model -f", "")
	board := taskID.FindString(w.ok("tensorboard start 1 --detach", ""))
	saved := taskID.FindString(w.ok("experiment list-checkpoints 1 --csv", ""))
	return strings.NewReplacer("{checkpoint}", saved, "{password}", password, "{agent}", "a", "{dir}", dir,
		"{command}", running, "{shell}", shell, "{generic}", generic, "{notebook}", notebook, "{tensorboard}", board, "{ended}", ended, "{short}", ended[:8])
}

// trainingProgram validates twice and saves a checkpoint, with the Core API only.
const trainingProgram = `import json
from determined import core

with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    for step in 1, 2:
        context.train.report_training_metrics(step, {"loss": 1 / step})
        context.train.report_validation_metrics(step, {"loss": 2 / step})
    with context.checkpoint.store_path({"steps_completed": 2}) as (path, _):
        (path / "state.json").write_text(json.dumps({"step": 2}))
    print("trained", flush=True)
`

// experimentConfig configures an experiment whose trial uses the harness of an environment that
// every user can read, and a directory as checkpoint storage.
func (w *walker) experimentConfig(checkpoints string) string {
	w.t.Helper()
	home := installed.Environment(w.t, "the harness", "harness", "python3")
	// Trials run as separate users if the agent is root.
	if err := errors.Join(os.MkdirAll(checkpoints, 0o755), os.Chmod(checkpoints, 0o1777)); err != nil { //nolint:gosec // see above
		w.t.Fatal(err)
	}
	return fmt.Sprintf(`name: e
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
max_restarts: 0
checkpoint_storage: {type: shared_fs, host_path: %s}
environment: {environment_variables: ["PATH=%[2]s/bin:/usr/local/bin:/usr/bin:/bin"]}
bind_mounts: [{host_path: %[2]s, container_path: %[2]s, read_only: true}] # trials have a /tmp of their own
`, checkpoints, home)
}

// TestWalkOfTheDetClient runs every command of the unmodified client.
func TestWalkOfTheDetClient(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\ntrust_users: true\nartificial_slots: 2\n"})
	c.StartMaster()
	c.StartAgent("a")
	w := &walker{t, dettest.New(t, c.URL)}
	leaves, err := w.det.Python(walkPrinter).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(leaves), strings.Join(readLines(t, walkLeaves), "\n")+"\n"; got != want {
		t.Errorf("%s is stale; write it with: .cache/det/bin/python %s", walkLeaves, walkPrinter)
	}
	w.ok("user login admin", password+"\n")
	c.Eventually("the agent is listed", time.Minute, func() error {
		if out := w.ok("slot list", ""); strings.Count(out, "Artificial") != 2 {
			return fmt.Errorf("no slots: %s", out)
		}
		return nil
	})
	steps := readWalk(t)
	names := w.scenery(c)
	for i := range steps {
		s := &steps[i]
		s.args, s.stdin, s.says = names.Replace(s.args), names.Replace(s.stdin), names.Replace(s.says)
	}
	start := time.Now()
	counts := map[outcome]int{}
	started := ""
	for _, s := range steps {
		s.args = strings.ReplaceAll(s.args, "{started}", started)
		r := w.run(s)
		if id := taskID.FindString(r.Out); id != "" && strings.Contains(s.args, " start ") {
			started = id
		}
		counts[r.outcome()]++
		if !s.fits(r) {
			t.Errorf("%s:%d: det %s: got %s, want %s %q\n%s", walkTable, s.line, s.args, r.outcome(), s.want, s.says, r.Out)
		}
	}
	t.Logf("%d invocations in %v: %v", len(steps), time.Since(start).Round(time.Second), counts)
}
