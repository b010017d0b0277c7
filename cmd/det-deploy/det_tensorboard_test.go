package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/rest"
)

// reportingProgram reports a metric, and ends when a file tells it to.
const reportingProgram = `import os, time
from determined import core

with core.init() as context:
    context.train.report_training_metrics(1, {"loss": 0.25})
    while not os.path.exists(os.environ["UNTIL"]):
        time.sleep(0.2)
`

// boards are TensorBoards of the unmodified client.
type boards struct {
	*walker

	c     *cluster
	token string
}

// TestTensorBoards shows the metrics of a running and of a finished experiment.
func TestTensorBoards(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\ntrust_users: true\nartificial_slots: 1\n"})
	c.StartMaster()
	c.StartAgent("a")
	b := &boards{walker: &walker{t, dettest.New(t, c.URL)}, c: c}
	b.ok("user login admin", password+"\n")
	b.token = strings.TrimSpace(b.ok("dev auth-token", ""))
	finish := b.reportingExperiment()

	running := taskID.FindString(b.ok("tensorboard start 1 --no-browser", ""))
	b.wantLoss(running)
	if out := b.ok("tensorboard list", ""); !strings.Contains(out, running) {
		t.Errorf("%s is not listed: %s", running, out)
	}
	c.RestartMaster()
	b.wantLoss(running)

	finish()
	b.ok("experiment wait 1", "")
	unused := taskID.FindString(b.ok("tensorboard start -t 1 --no-browser --config idle_timeout=10", ""))
	finished := taskID.FindString(b.ok("tensorboard start -t 1 --no-browser", ""))
	b.wantLoss(finished)
	c.Eventually("the unused TensorBoard ends", time.Minute, func() error {
		out := b.ok("tensorboard logs "+unused, "")
		if !strings.Contains(out, "Nobody uses this TensorBoard") || !strings.Contains(out, "ended after 10s without use") {
			return errors.New(out)
		}
		return nil
	})
	if out := b.ok("tensorboard config "+finished, ""); !strings.Contains(out, "slots: 0") || strings.Contains(out, "storage.json") {
		t.Errorf("got the configuration %s", out)
	}
	for _, args := range []string{"experiment delete-tb-files 1", "experiment delete 1 --yes"} {
		if r := b.run(step{args: args}); !strings.Contains(r.Out, "shows them") {
			t.Errorf("det %s: got %s, want the files kept for their readers", args, r.Out)
		}
	}
	b.ok("tensorboard kill "+running+" "+finished, "")
	b.c.Eventually("the files are deleted", time.Minute, func() error {
		if r := b.run(step{args: "experiment delete-tb-files 1"}); r.Failed {
			return errors.New(r.Out)
		}
		return nil
	})
}

// reportingExperiment runs experiment 1 until its metric is stored, and returns a function that ends it.
func (b *boards) reportingExperiment() (finish func()) {
	b.t.Helper()
	dir, home := b.t.TempDir(), installed.Environment(b.t, "the harness", "harness", "python3")
	storage := filepath.Join(dir, "checkpoints")
	until := filepath.Join(storage, "until")
	// Trials run as separate users if the agent is root.
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "model"), 0o755), os.MkdirAll(storage, 0o755), os.Chmod(storage, 0o1777)); err != nil { //nolint:gosec // see above
		b.t.Fatal(err)
	}
	for name, text := range map[string]string{"model/train.py": reportingProgram, "experiment.yaml": fmt.Sprintf(`name: e
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
max_restarts: 0
checkpoint_storage: {type: shared_fs, host_path: %[1]s}
environment: {environment_variables: ["PATH=%[2]s/bin:/usr/local/bin:/usr/bin:/bin", "UNTIL=%[3]s"]}
bind_mounts: [{host_path: %[2]s, container_path: %[2]s, read_only: true}, {host_path: %[1]s, container_path: %[1]s}]
`, storage, home, until)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	b.ok("experiment create "+dir+"/experiment.yaml "+dir+"/model", "")
	b.c.Eventually("the trial has reported", 2*time.Minute, func() error {
		if out := b.ok("trial describe 1 --metrics", ""); !strings.Contains(out, "0.25") {
			return fmt.Errorf("it has not: %s", out)
		}
		return nil
	})
	return func() {
		b.t.Helper()
		if err := os.WriteFile(until, nil, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

// wantLoss reads the metric from a TensorBoard.
func (b *boards) wantLoss(id string) {
	b.t.Helper()
	b.c.Eventually("TensorBoard "+id+" has the loss", time.Minute, func() error {
		var runs map[string]map[string]any
		if err := b.read(id, "data/plugin/scalars/tags", &runs); err != nil {
			return err
		}
		for run, tags := range runs {
			for tag := range tags {
				var points [][3]float64 // time, step, value
				if err := b.read(id, "data/plugin/scalars/scalars?run="+url.QueryEscape(run)+"&tag="+url.QueryEscape(tag), &points); err != nil {
					return err
				}
				if len(points) > 0 && points[0][2] == 0.25 && run == "experiment/1/trial/1" {
					return nil
				}
			}
		}
		return fmt.Errorf("got the runs %v", runs)
	})
}

// read decodes a response of a TensorBoard.
func (b *boards) read(id, path string, into any) error {
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.c.URL+"/proxy/"+id+"/"+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, res.StatusCode, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
