package experiment

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/metric"
)

// unmanaged is the configuration that the library sends for an experiment without settings.
const unmanaged = `
name: mine
data: null
description: null
labels: null
searcher: {name: single, metric: loss}
workspace: null
project: null
checkpoint_storage: {type: directory, container_path: /home/ann/checkpoints}
`

// put creates an unmanaged experiment of ann with an external ID.
func (w *world) put(id string) View {
	w.Helper()
	made, err := w.x.Create(w.Context(), Order{By: ann(), Config: unmanaged, Unmanaged: true, ExternalID: id})
	if err != nil {
		w.Fatal(err)
	}
	return made.View
}

func (w *world) putTrial(experiment int32, id string) TrialView {
	w.Helper()
	t, err := w.x.CreateTrial(w.Context(), TrialOrder{By: ann(), Experiment: experiment, ExternalID: id, Hparams: map[string]any{"lr": 0.1}})
	if err != nil {
		w.Fatal(err)
	}
	return t
}

func (w *world) begin(trial int32) Begun {
	w.Helper()
	b, err := w.x.StartTrial(w.Context(), ann(), trial, true)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

func (w *world) beat(trial int32) {
	w.Helper()
	if err := w.x.Heartbeat(w.Context(), trial); err != nil {
		w.Fatal(err)
	}
}

func (w *world) endThere(trial int32, c lifecycle.Cause) {
	w.Helper()
	if err := w.x.EndTrial(w.Context(), ann(), trial, c); err != nil {
		w.Fatal(err)
	}
}

// losses returns the validations of a trial by step.
func (w *world) losses(trial int32) string {
	w.Helper()
	var out []string
	for r, err := range metric.Read(w.Context(), w.store, int64(trial), metric.Validation, -1) {
		if err != nil {
			w.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d:%v", r.Steps, r.Values.Averages["loss"]))
	}
	return strings.Join(out, " ")
}

func wantRefused(t *testing.T, err error, code status.Code, parts ...string) {
	t.Helper()
	if status.Of(err) != code {
		t.Fatalf("got %v, want %v", err, code)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("got %v, want %q in it", err, p)
		}
	}
}

func TestUnmanagedTrialCompletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.put("")
	trial := w.putTrial(x.ID, "")
	if trial.Shown != "STARTING" || trial.Task() == "" {
		t.Errorf("got %s with task %q, want STARTING with one", trial.Shown, trial.Task())
	}
	if b := w.begin(trial.ID); b != (Begun{Run: 1}) {
		t.Errorf("got %+v, want run 1 from nothing", b)
	}
	w.beat(trial.ID)
	w.report(trial.ID, 10, map[string]any{"loss": 0.5})
	w.report(trial.ID, 20, map[string]any{"loss": 0.4})
	v, _ := w.wantState(x.ID, lifecycle.Active)
	if v.Shown != "RUNNING" || v.Best == nil || v.Best.Steps != 20 {
		t.Errorf("got %s with best %+v, want RUNNING and step 20", v.Shown, v.Best)
	}
	if open := w.machine.open(); len(open) != 0 {
		t.Errorf("got allocations %v, want none: no task of the cluster runs it", open)
	}
	w.endThere(trial.ID, lifecycle.Exited)
	w.endThere(trial.ID, lifecycle.Exited) // the first answer was lost
	v, trials := w.wantState(x.ID, lifecycle.Completed)
	if v.Progress != 1 || trials[0].Life.State != lifecycle.Completed || v.Open != 0 {
		t.Errorf("got progress %g and %+v, want all of it done", v.Progress, trials[0].Life)
	}
	before := w.kinds(x.ID)
	w.restart()
	if got := w.kinds(x.ID); len(got) != len(before) {
		t.Errorf("got events %v after a restart, want %v", got, before)
	}
	w.wantState(x.ID, lifecycle.Completed)
}

func TestExternalIDContinuesTrial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.put("exp/a")
	trial := w.putTrial(x.ID, "t")
	w.begin(trial.ID)
	for step := int32(10); step <= 40; step += 10 {
		w.report(trial.ID, step, map[string]any{"loss": 1 / float64(step)})
	}
	saved := w.save(trial.ID, 20)
	w.endThere(trial.ID, lifecycle.Failed)
	w.wantState(x.ID, lifecycle.Error)
	w.restart()

	if again := w.put("exp/a"); again.ID != x.ID {
		t.Fatalf("got experiment %d, want %d", again.ID, x.ID)
	}
	if again := w.putTrial(x.ID, "t"); again.ID != trial.ID || again.Task() != trial.Task() {
		t.Fatalf("got trial %d with task %s, want %d with %s", again.ID, again.Task(), trial.ID, trial.Task())
	}
	w.wantState(x.ID, lifecycle.Error) // until the next run starts
	first := w.begin(trial.ID)
	if first != (Begun{Run: 2, Checkpoint: saved, Steps: 20}) {
		t.Errorf("got %+v, want run 2 from %s", first, saved)
	}
	if second := w.begin(trial.ID); second != first {
		t.Errorf("got %+v when it was asked again, want %+v", second, first)
	}
	w.wantState(x.ID, lifecycle.Active)
	w.report(trial.ID, 30, map[string]any{"loss": 0.01})
	if got := w.losses(trial.ID); got != "10:0.1 20:0.05 30:0.01" {
		t.Errorf("got %s, want what follows the checkpoint replaced", got)
	}
	w.beat(trial.ID)
	if b := w.begin(trial.ID); b.Run != 3 { // it was killed and restarted before it counted as silent
		t.Errorf("got run %d, want 3", b.Run)
	}
	err := w.x.Report(w.Context(), metric.Report{Trial: int64(trial.ID), Run: 2, Group: metric.Validation, Steps: 90, At: w.now})
	wantRefused(t, err, status.FailedPrecondition, "its current run is 3")
	w.endThere(trial.ID, lifecycle.Exited)
	_, trials := w.wantState(x.ID, lifecycle.Completed)
	if trials[0].Life.Restarts != 2 {
		t.Errorf("got %d restarts, want 2", trials[0].Life.Restarts)
	}
}

func TestUnmanagedRunReplacesReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.put("e")
	trial := w.putTrial(x.ID, "t")
	for run, steps := range [][]int32{{10, 20, 30}, {40}, {5, 10}} {
		w.begin(trial.ID)
		machine := metric.Report{ // contains no information about the start of the run
			Trial: int64(trial.ID), Run: int64(run + 1), Group: "gpu", Steps: w.now.UnixMilli(), At: w.now,
			Values: metric.Values{Averages: map[string]any{"gpu_util": 0.5}},
		}
		if err := w.x.Report(t.Context(), machine); err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			w.report(trial.ID, s, map[string]any{"loss": float64(run)})
		}
		if run == 1 {
			w.save(trial.ID, 40)
		}
		w.endThere(trial.ID, lifecycle.Exited)
		want := []string{"10:0 20:0 30:0", "10:0 20:0 30:0 40:1", "5:2 10:2"}[run]
		if got := w.losses(trial.ID); got != want {
			t.Errorf("run %d: got %s, want %s", run+1, got, want)
		}
	}
	if _, trials := w.get(x.ID); trials[0].Best == nil || trials[0].Best.Steps > 10 {
		t.Errorf("got best %+v, want one of the last run", trials[0].Best)
	}
}

func TestSilentTrialIsRevived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.put("e")
	trial := w.putTrial(x.ID, "t")
	w.begin(trial.ID)
	w.beat(trial.ID)
	w.now = w.now.Add(lifecycle.Silence)
	w.reconcile()
	w.wantState(x.ID, lifecycle.Active)
	w.now = w.now.Add(time.Second)
	w.restart() // the time without a master does not count
	w.reconcile()
	w.wantState(x.ID, lifecycle.Active)
	w.now = w.now.Add(lifecycle.Silence + time.Second)
	w.reconcile()
	_, trials := w.wantState(x.ID, lifecycle.Error)
	if trials[0].Reason != "no heartbeat from its program for 5 minutes" {
		t.Errorf("got %q", trials[0].Reason)
	}
	w.beat(trial.ID) // the laptop was opened again
	_, trials = w.wantState(x.ID, lifecycle.Active)
	if trials[0].Life.Run != 1 || trials[0].Shown != "RUNNING" {
		t.Errorf("got run %d, %s, want the same one RUNNING", trials[0].Life.Run, trials[0].Shown)
	}
	w.now = w.now.Add(2 * lifecycle.Silence)
	w.reconcile()
	w.wantState(x.ID, lifecycle.Error)
	w.report(trial.ID, 10, map[string]any{"loss": 1.0}) // a report counts as a heartbeat
	w.wantState(x.ID, lifecycle.Active)
	w.endThere(trial.ID, lifecycle.Exited)
	w.wantState(x.ID, lifecycle.Completed)
}

func TestUnstartedUnmanagedTrialIsCanceled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unused, unbegun := w.put(""), w.put("")
	trial := w.putTrial(unbegun.ID, "")
	w.now = w.now.Add(lifecycle.Silence + time.Second)
	w.reconcile()
	v, _ := w.wantState(unused.ID, lifecycle.Canceled)
	if v.Trials != 0 {
		t.Errorf("got %d trials, want none", v.Trials)
	}
	_, trials := w.wantState(unbegun.ID, lifecycle.Canceled)
	if trials[0].Reason != "its program never started" {
		t.Errorf("got %q", trials[0].Reason)
	}
	w.begin(trial.ID) // started late
	w.wantState(unbegun.ID, lifecycle.Active)
}

func TestUnmanagedExperimentEndsWithLastTrial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.put("search")
	a, b := w.putTrial(x.ID, "a"), w.putTrial(x.ID, "b")
	w.begin(a.ID)
	w.begin(b.ID)
	w.endThere(a.ID, lifecycle.Failed)
	if v, _ := w.wantState(x.ID, lifecycle.Active); v.Progress != 0.5 {
		t.Errorf("got progress %g, want one of two", v.Progress)
	}
	w.endThere(b.ID, lifecycle.Exited)
	w.wantState(x.ID, lifecycle.Completed) // not all trials failed
	c := w.putTrial(x.ID, "c")
	w.wantState(x.ID, lifecycle.Active)
	w.begin(c.ID)
	w.endThere(c.ID, lifecycle.Killed)
	if v, trials := w.wantState(x.ID, lifecycle.Completed); v.Trials != 3 || trials[2].Life.State != lifecycle.Canceled {
		t.Errorf("got %d trials, the last %s", v.Trials, trials[2].Life.State)
	}
}

func TestConcurrentCreateWithExternalID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := make([]int32, 8)
	trials := make([]int32, len(ids))
	var g sync.WaitGroup
	for i := range ids {
		g.Go(func() {
			made, err := w.x.Create(context.WithoutCancel(t.Context()), Order{By: ann(), Config: unmanaged, Unmanaged: true, ExternalID: "one"})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = made.View.ID
			v, err := w.x.CreateTrial(t.Context(), TrialOrder{By: ann(), Experiment: ids[i], ExternalID: fmt.Sprint(i % 2)})
			if err != nil {
				t.Error(err)
			}
			trials[i] = v.ID
		})
	}
	g.Wait()
	for i := range ids {
		if ids[i] != ids[0] || trials[i] != trials[i%2] {
			t.Errorf("caller %d: got experiment %d and trial %d, want %d and %d", i, ids[i], trials[i], ids[0], trials[i%2])
		}
	}
	if v, _ := w.get(ids[0]); v.Trials != 2 {
		t.Errorf("got %d trials, want 2", v.Trials)
	}
}

func TestUnmanagedRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x, managed := w.put("e"), w.create(single)
	trial := w.putTrial(x.ID, "t")
	w.begin(trial.ID)
	ours := func() int32 { _, ts := w.get(managed.ID); return ts[0].ID }()
	ctx := t.Context()
	order := func(by *apiv1.User, experiment int32, id string) error {
		_, err := w.x.CreateTrial(ctx, TrialOrder{By: by, Experiment: experiment, ExternalID: id})
		return err
	}
	put := func(by *apiv1.User, id string) error {
		_, err := w.x.Create(ctx, Order{By: by, Config: unmanaged, Unmanaged: true, ExternalID: id})
		return err
	}
	patch := func(p Patch) error { _, err := w.x.Patch(ctx, ann(), x.ID, p); return err }
	start := func(id int32) error { _, err := w.x.StartTrial(ctx, ann(), id, true); return err }
	for name, row := range map[string]struct {
		err  error
		code status.Code
		part string
	}{
		"pause":               {w.x.Ask(ctx, ann(), x.ID, lifecycle.Pause), status.FailedPrecondition, "run outside the cluster"},
		"activate":            {w.x.Ask(ctx, ann(), x.ID, lifecycle.Activate), status.FailedPrecondition, "start them where they run"},
		"priority":            {patch(Patch{Priority: new(3)}), status.FailedPrecondition, "no priority"},
		"pool":                {patch(Patch{Pool: new("gpu")}), status.FailedPrecondition, "no slots"},
		"policy":              {patch(Patch{Keep: &Keep{}}), status.FailedPrecondition, "delete the files where they are stored"},
		"another's":           {put(bob(), "e"), status.PermissionDenied, "only its owner ann"},
		"a trial of another":  {order(bob(), x.ID, ""), status.PermissionDenied, "only its owner ann"},
		"a trial of ours":     {order(ann(), managed.ID, ""), status.FailedPrecondition, "managed by the cluster"},
		"a start of ours":     {start(ours), status.FailedPrecondition, "managed by the cluster"},
		"a heartbeat of ours": {w.x.Heartbeat(ctx, ours), status.FailedPrecondition, "managed by the cluster"},
		"an end of ours":      {w.x.EndTrial(ctx, ann(), ours, lifecycle.Exited), status.FailedPrecondition, "managed by the cluster"},
		"no experiment":       {order(ann(), 99, ""), status.NotFound, "99"},
		"no trial":            {start(99), status.NotFound, "99"},
		"a long id":           {put(ann(), strings.Repeat("x", 257)), status.InvalidArgument, "256 bytes"},
		"a line as id":        {order(ann(), x.ID, "a\nb"), status.InvalidArgument, "control characters"},
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, row.err, row.code, row.part) })
	}
	if err := patch(Patch{Name: new("hers"), Labels: &[]string{"a"}}); err != nil {
		t.Errorf("rename: %v", err)
	}
	w.wantState(managed.ID, lifecycle.Active)
}

func TestReportsOfKilledUnmanagedTrialAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.put("e")
	trial := w.putTrial(x.ID, "t")
	w.begin(trial.ID)
	w.beat(trial.ID)
	w.ask(x.ID, lifecycle.Kill)
	_, trials := w.wantState(x.ID, lifecycle.Canceled)
	if trials[0].Life.State != lifecycle.Canceled {
		t.Errorf("got %s, want CANCELED at once: there is no task to wait for", trials[0].Life.State)
	}
	wantRefused(t, w.x.Heartbeat(t.Context(), trial.ID), status.FailedPrecondition, "ended by ann", "start it again")
	wantRefused(t, w.tryReport(trial.ID, 10, map[string]any{"loss": 1.0}), status.FailedPrecondition, "ended by ann")
	w.endThere(trial.ID, lifecycle.Exited) // its end has no effect anymore
	w.wantState(x.ID, lifecycle.Canceled)
	w.begin(trial.ID)
	w.wantState(x.ID, lifecycle.Active)
	if err := w.x.KillTrial(t.Context(), ann(), trial.ID); err != nil {
		t.Fatal(err)
	}
	w.wantState(x.ID, lifecycle.Canceled)
}

func TestReportsOfKilledSilentTrialAreRefused(t *testing.T) {
	t.Parallel()
	for _, byTrial := range []bool{false, true} {
		w := newWorld(t)
		x := w.put("e")
		asleep, other := w.putTrial(x.ID, "a"), w.putTrial(x.ID, "b")
		w.begin(asleep.ID)
		w.begin(other.ID)
		w.now = w.now.Add(lifecycle.Silence + time.Second)
		w.beat(other.ID)
		w.reconcile()
		w.wantState(x.ID, lifecycle.Active)
		if byTrial {
			for _, id := range []int32{asleep.ID, other.ID} {
				if err := w.x.KillTrial(t.Context(), ann(), id); err != nil {
					t.Fatal(err)
				}
			}
		} else {
			w.ask(x.ID, lifecycle.Kill)
		}
		before := w.wantOver(x.ID)
		wantRefused(t, w.x.Heartbeat(t.Context(), asleep.ID), status.FailedPrecondition, "ended by ann")
		w.wantState(x.ID, before)
	}
}

// wantOver checks that an experiment has ended and returns its state.
func (w *world) wantOver(id int32) lifecycle.State {
	w.Helper()
	v, _ := w.get(id)
	if !v.State.Over() {
		w.Fatalf("the experiment is %s, want it over", v.State)
	}
	return v.State
}

func TestUnmanagedInvalidHyperparameters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before, after := w.putTrial(w.put("").ID, ""), w.putTrial(w.put("").ID, "")
	w.begin(before.ID)
	if err := w.x.ReportInvalid(t.Context(), before.ID); err != nil {
		t.Fatal(err)
	}
	w.endThere(before.ID, lifecycle.Failed)
	if got := w.trial(before.ID); got.Life.State != lifecycle.Completed || got.Reason != "invalid hyperparameters" {
		t.Errorf("got %s (%s), want COMPLETED", got.Life.State, got.Reason)
	}
	w.begin(after.ID) // the library reports the failure first
	w.endThere(after.ID, lifecycle.Failed)
	if err := w.x.ReportInvalid(t.Context(), after.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.trial(after.ID); got.Reason != "invalid hyperparameters" {
		t.Errorf("got %q, want why it failed", got.Reason)
	}
	if err := w.x.ReportInvalid(t.Context(), after.ID); err != nil { // the first answer was lost
		t.Fatal(err)
	}
}

// The files remain where the program ran: no task deletes them, and only the documents are deleted.
func TestDeleteUnmanagedExperimentWithoutTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.put("e")
	trial := w.putTrial(x.ID, "t")
	w.begin(trial.ID)
	saved := w.save(trial.ID, 10)
	w.endThere(trial.ID, lifecycle.Exited)
	owner := func(int32) error { return nil }
	err := w.ckpts.Delete(t.Context(), checkpoint.Order{UserID: 7, UUIDs: []string{saved}, Globs: checkpoint.AllFiles(), May: owner})
	wantRefused(t, err, status.FailedPrecondition, "unmanaged", "type directory", "delete them there")
	wantRefused(t, w.ckpts.DeleteTensorBoards(t.Context(), x.ID, 7), status.FailedPrecondition, "delete them there")

	from := strings.Replace(single, "metric: loss", "metric: loss, source_checkpoint_uuid: "+saved, 1)
	other := w.createOrder(Order{By: ann(), Config: from})
	w.ask(x.ID, lifecycle.Delete)
	v, _ := w.wantState(x.ID, lifecycle.DeleteFailed)
	if !strings.Contains(v.Failure, saved) {
		t.Errorf("got %q, want what needs %s", v.Failure, saved)
	}
	_, err = w.x.Create(t.Context(), Order{By: ann(), Config: unmanaged, Unmanaged: true, ExternalID: "e"})
	wantRefused(t, err, status.FailedPrecondition, "being deleted")
	w.ask(other.ID, lifecycle.Kill)
	w.ask(other.ID, lifecycle.Delete)
	w.ask(x.ID, lifecycle.Delete)
	if _, err := w.x.Get(x.ID); status.Of(err) != status.NotFound {
		t.Fatalf("got %v, want it gone", err)
	}
	if _, found, err := checkpoint.Get(t.Context(), w.store, saved); err != nil || found {
		t.Errorf("the record of a checkpoint is left: %t, %v", found, err)
	}
	if again := w.put("e"); again.ID == x.ID {
		t.Errorf("got experiment %d again, want another one of that name", x.ID)
	}
}

func TestUsing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.put("e")
	a, b := w.putTrial(x.ID, "a"), w.putTrial(x.ID, "b")
	w.begin(a.ID)
	saved := w.save(a.ID, 10)
	use := record.Use{Checkpoint: saved, How: "TRIAL_SOURCE_INFO_TYPE_INFERENCE"}
	for range 2 {
		if err := w.x.ReportUse(t.Context(), b.ID, use); err != nil {
			t.Fatal(err)
		}
	}
	using := func(how string) string {
		ids, err := w.x.Using(t.Context(), saved, func(u record.Use) bool { return u.How == how })
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(ids)
	}
	if got, want := using(use.How), fmt.Sprint([]int32{b.ID}); got != want {
		t.Errorf("got %s, want %s once", got, want)
	}
	if got := using("TRIAL_SOURCE_INFO_TYPE_FINE_TUNING"); got != "[]" {
		t.Errorf("got %s, want none that trains on", got)
	}
	err := w.x.ReportUse(t.Context(), b.ID, record.Use{Checkpoint: "00000000-0000-4000-8000-999999999999"})
	wantRefused(t, err, status.NotFound, "checkpoint")
	w.endThere(a.ID, lifecycle.Exited)
	w.ask(x.ID, lifecycle.Kill)
	w.ask(x.ID, lifecycle.Delete)
	if got := using(use.How); got != "[]" {
		t.Errorf("got %s, want none after the experiment was deleted", got)
	}
}

func TestUnmanagedExperimentLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("first")
	for i := range int32(9_999) {
		id := 2 + i
		w.x.reconciler.reg.add(&entry{id: id, rec: &record.Experiment{ID: id, UserID: ann().GetId(), Unmanaged: true, JobID: fmt.Sprint("job", id)}})
	}
	_, err := w.x.Create(t.Context(), Order{By: ann(), Config: unmanaged, Unmanaged: true, ExternalID: "one more"})
	wantRefused(t, err, status.ResourceExhausted, "user ann has 10000 unmanaged experiments")
	w.put("first") // an existing one
	if _, err := w.x.Create(t.Context(), Order{By: bob(), Config: unmanaged, Unmanaged: true}); err != nil {
		t.Errorf("another user: %v", err)
	}
}

func TestUnmanagedHyperparameterLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.put("mine")
	wide := map[string]any{}
	for i := range 250_000 {
		wide[fmt.Sprint("h", i)] = 0.5
	}
	order := func(id string) (TrialView, error) {
		return w.x.CreateTrial(w.Context(), TrialOrder{By: ann(), Experiment: x.ID, ExternalID: id, Hparams: wide})
	}
	for _, id := range []string{"a", "b", "c"} {
		if _, err := order(id); err != nil {
			t.Fatal(err)
		}
	}
	w.restart()
	_, err := order("d")
	if status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), "its 4 trials would have more than 1000000 hyperparameter values") {
		t.Errorf("got %v, want an error with the bound", err)
	}
	if same, err := order("a"); err != nil || same.ID != 1 {
		t.Errorf("got trial %d and %v, want the first trial again", same.ID, err)
	}
	if v, trials := w.get(x.ID); v.Trials != 3 || len(trials) != 3 {
		t.Errorf("got %d and %d trials, want the 3 that were accepted", v.Trials, len(trials))
	}
	w.putTrial(x.ID, "small")
}
