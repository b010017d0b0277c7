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

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/test/dettest"
	googletest "github.com/det-deploy/det-deploy/test/google"
	"github.com/det-deploy/det-deploy/test/installed"
	motest "github.com/det-deploy/det-deploy/test/moto"
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

	c *cluster
	// dir is a directory that all users may write to, and token that of the administrator.
	dir, token string
}

func newBoards(t *testing.T) *boards {
	t.Helper()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\ntrust_users: true\nartificial_slots: 1\n"})
	c.StartMaster()
	c.StartAgent("a")
	b := &boards{walker: &walker{t, dettest.New(t, c.URL)}, c: c, dir: t.TempDir()}
	// Trials run as separate users if the agent is root.
	if err := os.Chmod(b.dir, 0o1777); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}
	c.Login()
	b.ok("user login admin", password+"\n")
	b.token = strings.TrimSpace(b.ok("dev auth-token", ""))
	return b
}

// TestTensorBoards shows the metrics of a running and of a finished experiment.
func TestTensorBoards(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	b := newBoards(t)
	b.startTrial("1", "{type: shared_fs, host_path: "+b.dir+"}")

	running := taskID.FindString(b.ok("tensorboard start 1 --no-browser", ""))
	b.wantLoss(running, "experiment/1/trial/1")
	if out := b.c.Run("task", "list"); !strings.Contains(out, running[:8]) {
		t.Errorf("%s is not listed: %s", running, out)
	}
	if out := b.c.Run("task", "open", running); !strings.Contains(out, "/proxy/"+running+"/") {
		t.Errorf("got the address %s", out)
	}
	b.c.RestartMaster()
	b.wantLoss(running, "experiment/1/trial/1")

	b.endTrial("1")
	unused := taskID.FindString(b.ok("tensorboard start -t 1 --no-browser --config idle_timeout=10", ""))
	finished := taskID.FindString(b.ok("tensorboard start -t 1 --no-browser", ""))
	b.wantLoss(finished, "experiment/1/trial/1")
	b.c.Eventually("the unused TensorBoard ends", time.Minute, func() error {
		out := b.ok("tensorboard logs "+unused, "")
		if !strings.Contains(out, "Nobody uses this TensorBoard") || !strings.Contains(out, "ended after 10s without use") {
			return errors.New(out)
		}
		return nil
	})
	for _, args := range []string{"experiment delete-tb-files 1", "experiment delete 1 --yes"} {
		if r := b.run(step{args: args}); !strings.Contains(r.Out, "shows them") {
			t.Errorf("det %s: got %s, want the files kept for their readers", args, r.Out)
		}
	}
	b.c.Run("task", "kill", running)
	b.ok("tensorboard kill "+finished, "")
	b.c.Eventually("the files are deleted", time.Minute, func() error {
		if r := b.run(step{args: "experiment delete-tb-files 1"}); r.Failed {
			return errors.New(r.Out)
		}
		return nil
	})
}

// TestTensorBoardsOfBuckets shows metrics in buckets, of which one needs keys.
func TestTensorBoardsOfBuckets(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	b := newBoards(t)
	a := motest.Open(t)
	amazon, err := upload.Open(t.Context(), upload.Server{AccessKey: secret.Literal(a.AccessKey), SecretKey: secret.Literal(a.SecretKey), EndpointURL: a.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	bucket := "boards-" + a.ID
	if _, err := amazon.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	google, address := googletest.ServeGCS(t)
	res, err := google.Post("http://"+address+"/storage/v1/b?project=p", "application/json", strings.NewReader(`{"name": "boards"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	b.startTrial("1", fmt.Sprintf("{type: s3, bucket: %s, prefix: p/q, access_key: %s, secret_key: %s, endpoint_url: '%s'}", bucket, a.AccessKey, a.SecretKey, a.Endpoint))
	b.endTrial("1")
	b.startTrial("2", "{type: gcs, bucket: boards, prefix: p}", "STORAGE_EMULATOR_HOST=http://"+address)
	b.endTrial("2")
	for id, run := range map[string]string{"1": bucket + "/p/q/", "2": "boards/p/"} {
		board := taskID.FindString(b.ok("tensorboard start "+id+" --no-browser", ""))
		b.wantLoss(board, run)
		for _, args := range []string{"tensorboard config ", "tensorboard logs "} {
			if out := b.ok(args+board, ""); strings.Contains(out, a.SecretKey) {
				t.Errorf("det %s shows the key: %s", args, out)
			}
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), a.SecretKey) { //nolint:gosec // of a process
			t.Errorf("a program has the key in its arguments: %s", strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	if r := b.run(step{args: "tensorboard start 1 2"}); !r.Failed || !strings.Contains(r.Out, "start a TensorBoard for each") {
		t.Errorf("got %s, want two storages refused", r.Out)
	}
}

// startTrial runs an experiment, whose ID is known, until its metric is stored.
func (b *boards) startTrial(id, storage string, variables ...string) {
	b.t.Helper()
	home := installed.Environment(b.t, "the harness", "harness", "python3")
	variables = append(variables, "PATH="+home+"/bin:/usr/local/bin:/usr/bin:/bin", "UNTIL="+b.until(id))
	list, err := json.Marshal(variables)
	if err != nil {
		b.t.Fatal(err)
	}
	dir := b.t.TempDir()
	for name, text := range map[string]string{"model/train.py": reportingProgram, "experiment.yaml": fmt.Sprintf(`name: e
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
max_restarts: 0
checkpoint_storage: %s
environment: {environment_variables: %s}
bind_mounts: [{host_path: %[3]s, container_path: %[3]s, read_only: true}, {host_path: %[4]s, container_path: %[4]s}]
`, storage, list, home, b.dir)} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			b.t.Fatal(err)
		}
	}
	b.ok("experiment create "+dir+"/experiment.yaml "+dir+"/model", "")
	b.c.Eventually("the trial has reported", 2*time.Minute, func() error {
		if out := b.ok("trial describe "+id+" --metrics", ""); !strings.Contains(out, "0.25") {
			return fmt.Errorf("it has not: %s", out)
		}
		return nil
	})
}

// until is the file that ends the trial of an experiment.
func (b *boards) until(id string) string { return filepath.Join(b.dir, "until-"+id) }

// endTrial ends an experiment.
func (b *boards) endTrial(id string) {
	b.t.Helper()
	if err := os.WriteFile(b.until(id), nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.ok("experiment wait "+id, "")
}

// wantLoss reads the metric from the only run of a TensorBoard, whose name begins with a prefix.
func (b *boards) wantLoss(id, prefix string) {
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
				if len(points) > 0 && points[0][2] == 0.25 && strings.HasPrefix(run, prefix) {
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
