package experiment

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/rm"
)

func (w *world) finish(trial int32, code int32) {
	w.Helper()
	w.exit(w.place(trial), code)
}

func TestASingleTrialIsContinuedWithAnotherConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	uuid := w.save(1, 10)
	w.exit(w.allocationOf(w.trial(1)), 0)
	w.wantState(1, lifecycle.Completed)
	v, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1, Override: "name: again\nmax_restarts: 0\n"})
	if err != nil {
		t.Fatal(err)
	}
	if v.State != lifecycle.Active || v.Name != "again" {
		t.Errorf("got %s %q, want an active experiment with its new name", v.State, v.Name)
	}
	w.restart()
	w.reconcile()
	got := w.trial(1)
	if len(got.Tasks) != 2 || got.Tasks[1] != got.Tasks[0]+"-1" || got.Life.Run != 2 || got.Life.Latest != uuid || got.Base != 10 {
		t.Errorf("got %+v, want the same trial with another task from its checkpoint", got.Trial)
	}
	w.finish(1, 1)
	x, _ := w.wantState(1, lifecycle.Error)
	if x.Trials != 1 || x.Open != 0 {
		t.Errorf("got %d trials of which %d are open, want 1 and 0", x.Trials, x.Open)
	}
}

// The trial keeps the hyperparameters of its checkpoints, so that an override of them is refused.
func TestAContinuationWithOtherHyperparametersIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(strings.Replace(single, "{lr: 0.1}", "{lr: 0.1, net: {width: {type: int, minval: 1, maxval: 9}}}", 1))
	w.finish(1, 0)
	w.wantState(1, lifecycle.Completed)
	for _, override := range []string{
		"hyperparameters: {lr: 0.2}", "hyperparameters: {net: {width: 3}}", "hyperparameters: {more: 1}",
		"hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}", "name: again\nhyperparameters: {lr: 0.2}",
	} {
		_, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1, Override: override})
		if status.Of(err) != status.InvalidArgument || !strings.Contains(err.Error(), "continue experiment 1: hyperparameters: the trial keeps its initial values") {
			t.Errorf("%s: got %v, want an error", override, err)
		}
	}
	w.wantState(1, lifecycle.Completed)
	if _, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1, Override: "max_restarts: 1\nhyperparameters: {lr: 0.1}"}); err != nil {
		t.Errorf("got %v for the values that it has, want it continued", err)
	}
}

const grid = `
name: grid
entrypoint: python3 train.py
searcher: {name: grid, metric: loss, max_concurrent_trials: 2}
hyperparameters: {n: {type: categorical, vals: [1, 2, 3]}}
max_restarts: 0
`

func TestContinueGridReopensIncompleteTrials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(grid)
	w.finish(1, 0)
	w.finish(2, 1)
	w.finish(3, 0)
	w.wantState(1, lifecycle.Completed)
	if _, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1, Override: "name: x"}); err == nil {
		t.Error("the configuration of a grid was changed")
	}
	if _, err := w.x.Continue(t.Context(), Continuation{By: bob(), ID: 1}); status.Of(err) != status.PermissionDenied {
		t.Errorf("got %v for another user, want PermissionDenied", err)
	}
	if _, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1}); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if n := len(w.machine.open()); n != 1 {
		t.Fatalf("got %d runs, want that of the trial that failed", n)
	}
	w.finish(2, 0)
	w.wantState(1, lifecycle.Completed)
	if _, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1}); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v, want an error: all trials completed", err)
	}
}

func TestACanceledGridContinuesWithItsSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(grid)
	w.finish(1, 0)
	w.ask(1, lifecycle.Kill)
	for _, id := range w.machine.open() {
		w.end(id, rm.CauseKilled)
	}
	w.wantState(1, lifecycle.Canceled)
	w.restart()
	if _, err := w.x.Continue(t.Context(), Continuation{By: ann(), ID: 1}); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	w.finish(2, 0)
	w.finish(3, 0)
	x, _ := w.wantState(1, lifecycle.Completed)
	if x.Trials != 3 {
		t.Errorf("got %d trials, want all 3 of the grid", x.Trials)
	}
}

func TestSourceCheckpointIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	uuid := w.save(1, 10)
	w.exit(w.allocationOf(w.trial(1)), 0)
	w.create(strings.Replace(single, "metric: loss", "metric: loss, source_trial_id: 1", 1))
	if got := w.trial(2); got.Life.WarmStart != uuid || got.Base != 0 {
		t.Errorf("got %+v, want a trial that starts from %s at step 0", got.Trial, uuid)
	}
	needed := func() bool {
		rec, _, err := checkpoint.Get(t.Context(), w.store, uuid)
		if err != nil {
			t.Fatal(err)
		}
		needs, err := checkpoint.Needs(t.Context(), w.store, nil, []checkpoint.Record{rec})
		if err != nil {
			t.Fatal(err)
		}
		return len(needs) > 0
	}
	w.finish(2, 0)
	if !needed() {
		t.Error("the source of a trial that exists may be deleted")
	}
	_, err := w.x.Create(t.Context(), Order{By: ann(), Config: strings.Replace(single, "metric: loss", "metric: loss, source_checkpoint_uuid: none", 1)})
	if status.Of(err) != status.NotFound {
		t.Errorf("got %v, want the unknown checkpoint to be refused", err)
	}
	_, err = w.x.Create(t.Context(), Order{By: ann(), Config: strings.Replace(single, "metric: loss", "metric: loss, source_trial_id: 2", 1)})
	if status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v, want a trial without checkpoints to be refused", err)
	}
}

func file(path, content string) *apiv1.File {
	return &apiv1.File{Path: path, Content: []byte(content), Mode: 0o644, Type: 48}
}

func (w *world) definition(id int32) []byte {
	w.Helper()
	_, parts, err := w.x.ModelDefinition(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	var out []byte
	for b, err := range parts {
		if err != nil {
			w.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

func TestForkCopiesFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createOrder(Order{By: ann(), Config: single, Files: []*apiv1.File{file("train.py", "print(1)")}})
	fork := w.createOrder(Order{By: ann(), Config: single, Parent: 1})
	w.restart()
	if a, b := w.definition(1), w.definition(fork.ID); len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("got %d and %d bytes, want the same files", len(a), len(b))
	}
	if v, _ := w.get(fork.ID); v.ForkedFrom != 1 || v.Username != "ann" || v.State != lifecycle.Paused {
		t.Errorf("got %+v, want ann's paused fork of experiment 1", v.Experiment)
	}
}

func TestContentOfOtherUsersIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createOrder(Order{By: ann(), Config: single, Activate: true, Files: []*apiv1.File{file("train.py", "print(1)")}})
	w.place(1)
	uuid := w.save(1, 10)
	from := func(key string) string { return strings.Replace(single, "metric: loss", "metric: loss, "+key, 1) }
	for name, o := range map[string]Order{
		"a fork":                    {Config: single, Parent: 1},
		"a start from a checkpoint": {Config: from("source_checkpoint_uuid: " + uuid)},
		"a start from a trial":      {Config: from("source_trial_id: 1")},
	} {
		for _, o.ValidateOnly = range []bool{true, false} {
			o.By = bob()
			_, err := w.x.Create(t.Context(), o)
			wantRefused(t, err, status.PermissionDenied, "of experiment 1: only its owner ann and administrators may")
		}
		o.By, o.ValidateOnly = root(), true
		if _, err := w.x.Create(t.Context(), o); err != nil {
			t.Errorf("%s by an administrator: got %v, want it allowed", name, err)
		}
	}
	if _, err := w.x.Create(t.Context(), Order{By: bob(), Config: single, Parent: 1, Files: []*apiv1.File{file("own.py", "")}}); err != nil {
		t.Errorf("a fork with files of its own: got %v, want it allowed", err)
	}
}

// Every program of an experiment in the workspace receives the workspace's keys.
func TestWorkspaceKeysRequireMembership(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keys, err := structpb.NewStruct(map[string]any{"type": "s3", "bucket": "b", "access_key": "a", "secret_key": "s"})
	if err != nil {
		t.Fatal(err)
	}
	team, err := w.spots.Create(t.Context(), ann(), &apiv1.PostWorkspaceRequest{Name: "team", CheckpointStorageConfig: keys})
	if err != nil {
		t.Fatal(err)
	}
	project, err := w.spots.CreateProject(t.Context(), bob(), &apiv1.PostProjectRequest{Name: "his", WorkspaceId: team.GetId()})
	if err != nil {
		t.Fatal(err)
	}
	create := func(by *apiv1.User) error {
		managed := Order{By: by, Config: single, Project: project.GetId(), ValidateOnly: true}
		elsewhere := managed
		elsewhere.Config, elsewhere.Unmanaged = "searcher: {name: single, metric: loss}", true
		_, err := w.x.Create(t.Context(), managed)
		_, unmanaged := w.x.Create(t.Context(), elsewhere)
		if (err == nil) != (unmanaged == nil) {
			t.Errorf("got %v, and %v for an unmanaged experiment", err, unmanaged)
		}
		return err
	}
	wantRefused(t, create(bob()), status.PermissionDenied, "workspace 'team' has storage keys", "memberIds")
	for _, by := range []*apiv1.User{ann(), root()} {
		if err := create(by); err != nil {
			t.Errorf("by %s: got %v, want it allowed", by.GetUsername(), err)
		}
	}
	members := &structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(float64(bob().GetId()))}}
	if _, err := w.spots.Patch(t.Context(), ann(), team.GetId(), &apiv1.PatchWorkspace{MemberIds: members}); err != nil {
		t.Fatal(err)
	}
	if err := create(bob()); err != nil {
		t.Errorf("by a member: got %v, want it allowed", err)
	}
}

func TestInvalidExperimentStoresNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := make([]*apiv1.File, 100_001)
	for i := range many {
		many[i] = file("same", "")
	}
	for name, c := range map[string]struct {
		order Order
		code  status.Code
		says  string
	}{
		"no searcher":     {Order{Config: "entrypoint: x"}, status.InvalidArgument, "searcher"},
		"no YAML":         {Order{Config: "a: ["}, status.InvalidArgument, "config"},
		"unknown key":     {Order{Config: single + "max_restart: 1"}, status.InvalidArgument, "max_restarts"},
		"unknown pool":    {Order{Config: strings.Replace(single, "slots_per_trial: 1", "resource_pool: moon", 1)}, status.InvalidArgument, "moon"},
		"unknown project": {Order{Config: single, Project: 77}, status.NotFound, "77"},
		"half a project":  {Order{Config: single + "workspace: Uncategorized"}, status.InvalidArgument, "project"},
		"unknown parent":  {Order{Config: single, Parent: 5}, status.NotFound, "5"},
		"no template":     {Order{Config: single, Template: "none"}, status.NotFound, "none"},
		"outside":         {Order{Config: single, Files: []*apiv1.File{file("../x", "")}}, status.InvalidArgument, "../x"},
		"a link":          {Order{Config: single, Files: []*apiv1.File{{Path: "l", Type: '2'}}}, status.InvalidArgument, "\"l\""},
		"too large":       {Order{Config: single, Files: []*apiv1.File{file("big", strings.Repeat("x", 113<<20))}}, status.InvalidArgument, "leave out"},
		"too many files":  {Order{Config: single, Files: many}, status.InvalidArgument, "100000"},
	} {
		c.order.By = ann()
		_, err := w.x.Create(t.Context(), c.order)
		if status.Of(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %s that says %q", name, err, c.code, c.says)
		}
	}
	if n := len(w.x.Rows(Filter{})); n != 0 {
		t.Errorf("got %d experiments, want none", n)
	}
	w.restart()
	if v := w.createOrder(Order{By: ann(), Config: single}); len(w.definition(v.ID)) != 0 {
		t.Error("an experiment has the files of one that was refused")
	}
}

func TestValidateOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, err := w.x.Create(t.Context(), Order{By: ann(), Config: single, ValidateOnly: true})
	if err != nil || made.View.ID != 0 || made.Settings.Config["name"] != "one" {
		t.Errorf("got %+v and %v, want a configuration and nothing stored", made.View, err)
	}
	if n := len(w.x.Rows(Filter{})); n != 0 {
		t.Errorf("got %d experiments, want none", n)
	}
}

func TestPatchPersists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	name, priority, weight, slots, pool := "new", 7, 2.5, 3, "aux"
	_, err := w.x.Patch(t.Context(), ann(), 1, Patch{
		Name: &name, Labels: &[]string{"a", "b"}, Priority: &priority, Weight: &weight, SetMaxSlots: true, MaxSlots: &slots, Pool: &pool,
		Keep: &Keep{ExperimentBest: 1, TrialBest: 2, TrialLatest: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	job := rm.JobID(w.must(1).JobID)
	if c := w.machine.changes[job]; *c.Priority != 7 || *c.Weight != 2.5 || *c.MaxSlots != 3 || *c.Pool != "aux" {
		t.Errorf("got a queue with %+v, want what was changed", c)
	}
	if labels, err := w.x.SetLabel(t.Context(), ann(), 1, "b", false); err != nil || !cmp.Equal(labels, []string{"a"}) {
		t.Errorf("got %q and %v, want one label", labels, err)
	}
	if err := w.x.RetainLogs(t.Context(), ann(), 1, 5); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.reconcile()
	s, err := w.x.Settings(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	resources, _ := s.Config["resources"].(map[string]any)
	if s.Config["name"] != "new" || resources["resource_pool"] != "aux" || !strings.Contains(s.Original, "name: one") {
		t.Errorf("got %v, want what was changed beside what was submitted", s.Config)
	}
	if got := w.trial(1); got.LogDays == nil || *got.LogDays != 5 {
		t.Errorf("got %v days, want 5", got.LogDays)
	}
	for _, p := range []Patch{{Priority: new(100)}, {Weight: new(0.0)}, {SetMaxSlots: true, MaxSlots: new(-1)}, {Pool: new("moon")}, {Name: new("")}} {
		if _, err := w.x.Patch(t.Context(), ann(), 1, p); status.Of(err) != status.InvalidArgument {
			t.Errorf("%+v: got %v, want an error", p, err)
		}
	}
	if _, err := w.x.Patch(t.Context(), bob(), 1, Patch{Name: &name}); status.Of(err) != status.PermissionDenied {
		t.Errorf("got %v for another user, want PermissionDenied", err)
	}
}

func (w *world) must(id int32) View {
	w.Helper()
	v, _ := w.get(id)
	return v
}

func TestAnEndedExperimentIsArchivedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createOrder(Order{By: ann(), Config: single, Activate: true, Files: []*apiv1.File{file("train.py", "x")}})
	if err := w.x.Archive(t.Context(), ann(), 1, true); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v, want an active experiment not to be archived", err)
	}
	if err := w.x.Ask(t.Context(), ann(), 1, lifecycle.Delete); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v, want an active experiment not to be deleted", err)
	}
	id := w.place(1)
	w.report(1, 1, map[string]any{"loss": 1.0})
	w.exit(id, 0)
	w.restart()
	if err := w.x.Archive(t.Context(), ann(), 1, true); err != nil {
		t.Fatal(err)
	}
	if n := len(w.x.Rows(Filter{Archived: new(false)})); n != 0 {
		t.Errorf("got %d experiments that are not archived, want none", n)
	}
	w.ask(1, lifecycle.Delete)
	w.clean()
	if _, err := w.x.Get(1); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want the experiment to be gone", err)
	}
	if _, err := w.x.Trial(t.Context(), 1); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want the trial to be gone", err)
	}
	w.restart()
	if n := len(w.x.Rows(Filter{})); n != 0 {
		t.Errorf("got %d experiments after a restart, want none", n)
	}
	if v := w.create(single); v.ID != 2 {
		t.Errorf("got experiment %d, want 2: numbers are given once", v.ID)
	}
}

// clean runs the tasks that delete files.
func (w *world) clean() {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { return w.ckpts.Run(ctx) })
	deadline := time.Now().Add(time.Minute)
	for len(w.x.Rows(Filter{})) > 0 {
		if time.Now().After(deadline) {
			w.Fatal("files are not deleted")
		}
		for _, id := range w.machine.open() {
			w.placeAllocation(id)
			w.exit(id, 0)
		}
		w.reconcile()
		runtime.Gosched()
	}
	cancel()
	if err := g.Wait(); err != nil {
		w.Error(err)
	}
}

func TestCheckpointsAreDeletedBeforeExperiment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	w.save(1, 10)
	w.exit(w.allocationOf(w.trial(1)), 0)
	w.ask(1, lifecycle.Delete)
	w.reconcile()
	if v := w.must(1); v.State != lifecycle.Deleting {
		t.Errorf("got %s, want it to wait for its checkpoints", v.State)
	}
	if err := w.x.Ask(t.Context(), ann(), 1, lifecycle.Activate); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v, want an error", err)
	}
}

// If no task can delete the files, an administrator deletes the records.
func TestDeletionThatWaitsForFilesCanKeepThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	w.save(1, 10)
	w.exit(w.allocationOf(w.trial(1)), 0)
	w.ask(1, lifecycle.Delete)
	w.reconcile()
	if err := w.x.DeleteRecords(t.Context(), ann(), 1); status.Of(err) != status.PermissionDenied {
		t.Errorf("got %v for the owner, want PermissionDenied", err)
	}
	if err := w.x.DeleteRecords(t.Context(), root(), 1); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.reconcile()
	if _, err := w.x.Get(1); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want the experiment to be gone", err)
	}
	if all, err := checkpoint.Deletions(t.Context(), w.store); len(all) > 0 || err != nil {
		t.Errorf("got deletions %v, error %v; want none", all, err)
	}
}

// A run that fails before its program reports has stored nothing.
func TestExperimentWithoutReportsIsDeletedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	for range 3 {
		w.finish(1, 1)
	}
	w.wantState(1, lifecycle.Error)
	w.ask(1, lifecycle.Delete)
	w.reconcile()
	if _, err := w.x.Get(1); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want the experiment to be gone", err)
	}
}

func TestRunningExperimentKeepsItsRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	if err := w.x.DeleteRecords(t.Context(), root(), 1); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v, want an active experiment not to be deleted", err)
	}
}

func TestRefusedReportDoesNotFailBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(single)
	w.place(1)
	w.report(1, 1, map[string]any{"loss": 0.5})
	var g errgroup.Group
	for i := range int32(40) {
		g.Go(func() error {
			if i%2 == 0 {
				return w.tryReport(1, i+2, map[string]any{"loss": 0.4})
			}
			if err := w.tryReport(1, 1, map[string]any{"loss": float64(i)}); status.Of(err) != status.AlreadyExists {
				return fmt.Errorf("got %w, want another value to be refused", err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	w.restart()
	if got := w.trial(1); got.Best.Metric != 0.4 {
		t.Errorf("got %v, want what was not refused", got.Best)
	}
}
