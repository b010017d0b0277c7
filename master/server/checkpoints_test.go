package server

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/checkpoint/view"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/experiment"
	experimentconfig "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/test/storetest"
)

const (
	checkpointA = "5b1d9d1c-3f7e-4b7e-8a58-0c6c7f0a7c11"
	checkpointB = "6b1d9d1c-3f7e-4b7e-8a58-0c6c7f0a7c12"
)

// noTasks implements experiment tasks without starting any.
type noTasks struct{}

func (noTasks) Start(context.Context, task.StartOrder) error      { return nil }
func (noTasks) End(context.Context, rm.TaskID, string) error      { return nil }
func (noTasks) Change(context.Context, rm.JobID, rm.Change) error { return nil }
func (noTasks) BoardsOf(int32) []rm.TaskID                        { return nil }

// trialNews stores reports in the way that experiments do.
type trialNews struct{ *store.Store }

func (n trialNews) Checkpointed(ctx context.Context, _ experiment.Checkpointed, put func(context.Context, *store.Tx) error) error {
	return n.Write(ctx, func(tx *store.Tx) error { return put(ctx, tx) })
}

func (n trialNews) Patched(ctx context.Context, _ int32, patch func(context.Context, *store.Tx) error) error {
	return n.Write(ctx, func(tx *store.Tx) error { return patch(ctx, tx) })
}

// withCheckpoints adds checkpoints to a world. Trial 3 of experiment 1, which belongs to user 2, runs as
// task "1.t" and stores checkpoints in dir.
func withCheckpoints(t *testing.T, dir string) (*world, *store.Store) {
	t.Helper()
	s := storetest.New(t)
	x := experimentconfig.Default()
	name, metricName, smaller := "single", "loss", true
	x.Searcher.Name, x.Searcher.Metric, x.Searcher.SmallerIsBetter = &name, &metricName, &smaller
	place := config.CheckpointStorage{SharedFS: &config.SharedFSStorage{Saved: config.Saved{TrialBest: 1}, HostPath: dir}}
	x.CheckpointStorage = experimentconfig.StorageOf(place)
	data, err := x.Store()
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		docs, key := record.Docs(), record.Key(1)
		if err := docs.Experiments.Put(tx, key, "", start, record.Experiment{ID: 1, State: lifecycle.Completed, UserID: 2, Username: "determined"}); err != nil {
			return err
		}
		if err := docs.Configs.Put(tx, key, "", start, record.Config{Complete: data}); err != nil {
			return err
		}
		trial := record.Trial{ID: 3, Experiment: 1, Tasks: []string{"1.t"}, Hparams: map[string]any{"lr": 0.5}, Life: lifecycle.Trial{State: lifecycle.Completed}}
		if err := docs.Trials.Put(tx, record.Key(3), key, start, trial); err != nil {
			return err
		}
		for steps, loss := range map[int64]any{10: 0.5, 20: "NaN"} {
			r := metric.Report{Trial: 3, Run: 1, Group: metric.Validation, Steps: steps, At: start, Values: metric.Values{Averages: map[string]any{"loss": loss}}}
			if _, err := metric.Open(s).Put(t.Context(), tx, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.New(checkpoint.Config{
		Store: s, Tasks: noTasks{}, Workspace: func(int32) (int32, error) { return 1, nil },
		Storages: func() []config.CheckpointStorage { return []config.CheckpointStorage{place} },
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(cfg *Config) {
		cfg.Checkpoints = view.New(view.Config{Checkpoints: c, Trials: trialNews{s}, Store: s})
	})
	return w, s
}

func reportBody(uuid, steps string) string {
	return `{"uuid":"` + uuid + `","taskId":"1.t","allocationId":"1.t.1","reportTime":"2026-11-21T05:00:00Z","state":"STATE_COMPLETED",` +
		`"metadata":{"steps_completed":` + steps + `},"resources":{"weights":"4"},"training":{}}`
}

// trialToken returns the token of the task that runs the trial.
func trialToken(t *testing.T, w *world, allocation string) string {
	t.Helper()
	own, _, err := w.auth.TaskTokens(t.Context(), 2, allocation)
	if err != nil {
		t.Fatal(err)
	}
	return string(own)
}

func TestReportCheckpoints(t *testing.T) {
	t.Parallel()
	w, s := withCheckpoints(t, t.TempDir())
	trial, other := trialToken(t, w, "1.t.1"), trialToken(t, w, "9.t.1")
	for _, tt := range []struct {
		name, token, body string
		code              int
		want              string
	}{
		{"its own", trial, reportBody(checkpointA, "10"), 200, "{}"},
		{"sent again", trial, reportBody(checkpointA, "10"), 200, "{}"},
		{"another", trial, reportBody(checkpointB, "20"), 200, "{}"},
		{"of another task", other, reportBody(checkpointA, "10"), 403, "may only report its own checkpoints"},
		{"a path", trial, reportBody("../../etc", "10"), 400, "must be a UUID"},
		{"in capitals", trial, reportBody(strings.ToUpper(checkpointA), "10"), 400, "must be a UUID"},
		{"half a step", trial, reportBody(checkpointA, "1.5"), 400, "must be an integer of at least 0"},
		{"deleted already", trial, strings.Replace(reportBody(checkpointA, "1"), "COMPLETED", "DELETED", 1), 400, "state: must be"},
	} {
		rec := w.ask(t, http.MethodPost, "/api/v1/checkpoints", tt.token, tt.body)
		if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.want) {
			t.Errorf("%s: got %d %s, want %d with %s", tt.name, rec.Code, rec.Body, tt.code, tt.want)
		}
	}
	all, err := checkpoint.OfTrials(t.Context(), s, 3)
	if err != nil || len(all) != 2 {
		t.Errorf("got %d checkpoints (%v), want 2", len(all), err)
	}
}

// reported returns a world with two checkpoints.
func reported(t *testing.T, dir string) *world {
	t.Helper()
	w, _ := withCheckpoints(t, dir)
	trial := trialToken(t, w, "1.t.1")
	for uuid, steps := range map[string]string{checkpointA: "10", checkpointB: "20"} {
		if rec := w.ask(t, http.MethodPost, "/api/v1/checkpoints", trial, reportBody(uuid, steps)); rec.Code != 200 {
			t.Fatalf("got %d %s", rec.Code, rec.Body)
		}
	}
	return w
}

func TestCheckpointsAreDescribedAndListed(t *testing.T) {
	t.Parallel()
	w := reported(t, t.TempDir())
	for _, tt := range []struct {
		path, want string
		code       int
	}{
		{"checkpoints/" + checkpointA, `"trialId":3,"experimentId":1`, 200},
		{"checkpoints/" + checkpointA, `"resources":{"weights":"4"}`, 200},
		{"checkpoints/" + checkpointA, `"validationMetrics":{"avgMetrics":{"loss":0.5}`, 200},
		{"checkpoints/" + checkpointA, `"searcherMetric":0.5`, 200},
		{"checkpoints/" + checkpointA, `"deletion":null`, 200},
		{"checkpoints/nothing", "checkpoint 'nothing' not found", 404},
		{"experiments/1/checkpoints?sortByAttr=SORT_BY_SEARCHER_METRIC&limit=1", `"uuid":"` + checkpointA, 200},
		{"experiments/1/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER&orderBy=ORDER_BY_DESC&limit=1", `"uuid":"` + checkpointB, 200},
		{"experiments/1/checkpoints?limit=1&offset=0", `"startIndex":0,"endIndex":1,"total":2`, 200},
		{"trials/3/checkpoints?states=STATE_DELETED", `"checkpoints":[]`, 200},
		{"checkpoints?deleting=true", `"checkpoints":[]`, 200},
		{"experiments/7/checkpoints", "experiment '7' not found", 404},
		{"trials/7/checkpoints", "trial '7' not found", 404},
		{"trials/3/checkpoints?sortByAttr=SORT_BY_LUCK", "sortByAttr: must be one of", 400},
	} {
		rec := w.ask(t, http.MethodGet, "/api/v1/"+tt.path, w.user, "")
		if got := squeeze(rec.Body.String()); rec.Code != tt.code || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %d %s, want %d with %s", tt.path, rec.Code, got, tt.code, tt.want)
		}
	}
}

func TestCheckpointPermissions(t *testing.T) {
	t.Parallel()
	w := reported(t, t.TempDir())
	if rec := w.ask(t, http.MethodPost, "/api/v1/users", w.admin, `{"user":{"username":"ann","active":true},"password":"`+password+`"}`); rec.Code != 200 {
		t.Fatalf("got %d %s", rec.Code, rec.Body)
	}
	other := w.login(t, "ann")
	remove := `{"checkpointUuids":["` + checkpointA + `"]}`
	for _, tt := range []struct {
		name, method, path, token, body string
		code                            int
		want                            string
	}{
		{"another user", http.MethodDelete, "checkpoints", other, remove, 403, "experiment 1 belongs to another user"},
		{"none", http.MethodDelete, "checkpoints", w.user, `{}`, 400, "name at least one"},
		{"one that does not exist", http.MethodDelete, "checkpoints", w.user, `{"checkpointUuids":["x"]}`, 404, "checkpoint 'x' not found"},
		{"another user's metadata", http.MethodPost, "checkpoints/" + checkpointA + "/metadata", other, `{"checkpoint":{"metadata":{"a":1}}}`, 403, "experiment 1 belongs to another user"},
		{"metadata", http.MethodPost, "checkpoints/" + checkpointA + "/metadata", w.user, `{"checkpoint":{"metadata":{"a":1}}}`, 200, `"metadata":{"a":1}`},
		{"a task of another experiment", http.MethodPatch, "checkpoints", w.task, `{"checkpoints":[{"uuid":"` + checkpointA + `","resources":{"resources":{}}}]}`, 403, "does not belong to this task"},
		{"the owner", http.MethodDelete, "checkpoints", w.user, remove, 200, "{}"},
		{"the owner again", http.MethodDelete, "checkpoints", w.user, remove, 200, "{}"},
		{"it waits", http.MethodGet, "checkpoints/" + checkpointA, w.user, "", 200, `"globs":["**/*"]`},
		{"it is listed", http.MethodGet, "checkpoints?deleting=true", w.user, "", 200, `"total":1`},
		{"event files of another user", http.MethodDelete, "experiments/1/tensorboard-files", other, "", 403, "another user"},
	} {
		rec := w.ask(t, tt.method, "/api/v1/"+tt.path, tt.token, tt.body)
		if got := squeeze(rec.Body.String()); rec.Code != tt.code || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %d %s, want %d with %s", tt.name, rec.Code, got, tt.code, tt.want)
		}
	}
}

func TestDownloadCheckpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := reported(t, dir)
	if rec := w.ask(t, http.MethodGet, "/checkpoints/"+checkpointA, w.user, ""); rec.Code == 200 {
		t.Errorf("got 200 for files that are not there")
	}
	if err := os.MkdirAll(filepath.Join(dir, checkpointA), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, checkpointA, "weights"), []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := w.ask(t, http.MethodGet, "/checkpoints/"+checkpointA, w.user, "")
	if rec.Code != 200 || rec.Header().Get("Content-Type") != "application/gzip" {
		t.Fatalf("got %d %s %s", rec.Code, rec.Header(), rec.Body)
	}
	z, err := gzip.NewReader(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	h, err := r.Next()
	if err != nil || h.Name != "weights" {
		t.Fatalf("got %v, error %v", h, err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != "1234" {
		t.Errorf("got %q, error %v", b, err)
	}
	if rec := w.ask(t, http.MethodGet, "/checkpoints/"+checkpointA, "", ""); rec.Code != 401 {
		t.Errorf("got %d without a token, want 401", rec.Code)
	}
}

func TestDownloadPartOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := reported(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, checkpointA), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weights", "unlisted"} {
		if err := os.WriteFile(filepath.Join(dir, checkpointA, name), []byte("1234"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path, ranges string
		code         int
		want         string
	}{
		{"weights", "", 200, "1234"},
		{"weights", "bytes=1-", 206, "234"},
		{"weights", "bytes=4-", 416, ""},
		{"weights", "bytes=0-0,2-2", 200, "1234"},
		{"unlisted", "", 404, "has no file 'unlisted'"},
		{"../" + checkpointA + "/weights", "", 404, "has no file"},
		{"", "", 404, "has no file"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/checkpoints/"+checkpointA+"/file?path="+tt.path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+w.user)
		r.Header.Set("Range", tt.ranges)
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		if rec.Code != tt.code || !strings.Contains(rec.Body.String(), tt.want) {
			t.Errorf("%q %q: got %d %q, want %d %q", tt.path, tt.ranges, rec.Code, rec.Body, tt.code, tt.want)
		}
	}
}

func TestPreviewCheckpointPolicy(t *testing.T) {
	t.Parallel()
	w := reported(t, t.TempDir())
	rec := w.ask(t, http.MethodGet, "/experiments/1/preview_gc?save_experiment_best=0&save_trial_best=0&save_trial_latest=1", w.user, "")
	var got view.Preview
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 {
		t.Fatalf("got %d %s", rec.Code, rec.Body)
	}
	if len(got.Checkpoints) != 1 || got.Checkpoints[0].UUID != checkpointA || got.Checkpoints[0].ReportTime.IsZero() || got.MetricName != "loss" {
		t.Errorf("got %+v, want the first checkpoint", got)
	}
	if len(got.Kept) != 1 || got.Kept[0].Why[0] != "latest of its trial" {
		t.Errorf("got %+v, want the second checkpoint because it is the latest", got.Kept)
	}
	if rec := w.ask(t, http.MethodGet, "/experiments/1/preview_gc?save_trial_best=-1", w.user, ""); rec.Code != 400 {
		t.Errorf("got %d for -1, want 400", rec.Code)
	}
}
