package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/rm"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// stage is the stage of an experiment with one trial.
type stage = string

const (
	unborn    stage = "created paused"
	queued    stage = "queued"
	pulling   stage = "pulling"
	running   stage = "running"
	held      stage = "held"
	completed stage = "completed"
	canceled  stage = "canceled"
	deleting  stage = "deleting" // until its files are deleted
	deleted   stage = "deleted"

	// These stages last until the machines act.
	pausing  stage = "pausing"
	resumed  stage = "pausing, and to run again"
	stopping stage = "stopping"
)

// refused is an action that changes nothing and returns an error.
const refused stage = ""

type action string

func actions() []action {
	return []action{"create", "pause", "activate", "kill", "cancel", "archive", "delete", "continue"}
}

// nextStage returns the expected stage after an action. Signalled reports that the program had been
// asked to stop before the action.
func nextStage(s stage, a action, signalled bool) stage {
	if a == "create" { // a fork does not change its parent
		return map[bool]stage{true: refused, false: s}[s == deleted]
	}
	runs := map[action]stage{"pause": pausing, "activate": s, "kill": stopping, "cancel": stopping}
	waits := map[action]stage{"pause": s, "activate": queued, "kill": canceled, "cancel": canceled}
	again := map[action]stage{"pause": pausing, "activate": resumed, "kill": stopping, "cancel": stopping}
	ended := map[action]stage{"kill": s, "cancel": s, "archive": s, "delete": deleting, "continue": queued}
	switch s {
	case unborn, held:
		return waits[a]
	case queued, pulling, running:
		return runs[a]
	case pausing, resumed:
		if a == "activate" && !signalled {
			return s // the caller knows the stage of the run
		}
		return again[a]
	case stopping:
		return map[action]stage{"kill": stopping, "cancel": stopping}[a]
	case completed, canceled:
		return ended[a]
	case deleting:
		return map[action]stage{"kill": s, "cancel": s, "archive": s, "delete": s}[a]
	}
	return refused
}

// settled returns the stage after the machines have acted.
func settled(s stage) stage {
	switch s {
	case pausing:
		return held
	case resumed:
		return queued
	case stopping:
		return canceled
	}
	return s
}

// act performs an action without reconciling.
func (w *world) act(id int32, a action) error {
	var err error
	switch a {
	case "create":
		_, err = w.x.Create(w.Context(), Order{By: ann(), Config: single, Parent: id})
	case "archive":
		err = w.x.Archive(w.Context(), ann(), id, true)
	case "continue":
		_, err = w.x.Continue(w.Context(), Continuation{By: ann(), ID: id})
	default:
		err = w.x.Ask(w.Context(), ann(), id, lifecycle.Request(a))
	}
	return err
}

func (w *world) reconcileOne(id int32) {
	w.Helper()
	if err := w.x.reconcile(w.Context(), id); err != nil {
		w.Fatal(err)
	}
}

// runOf returns the open allocation of an experiment with one trial, or "".
func (w *world) runOf(id int32) rm.AllocationID {
	for _, a := range w.machine.open() {
		if r, _ := w.machine.Allocation(a); strings.HasPrefix(string(r.Request.Task), fmt.Sprintf("%d.", id)) {
			return a
		}
	}
	return ""
}

// settle lets tasks and machines act until nothing changes.
func (w *world) settle(id int32) {
	w.Helper()
	for range 10 {
		w.reconcileOne(id)
		a := w.runOf(id)
		preempt, kill := w.machine.asked(a)
		switch s, _ := w.tasks.Status(w.machine.known[a].Task); {
		case kill:
			w.endQuietly(a, rm.CauseKilled)
		case preempt && s.State == tasklife.Running:
			w.heedQuietly(a)
		case preempt:
			w.endQuietly(a, rm.CausePreempted)
		default:
			return
		}
	}
	w.Fatalf("experiment %d does not come to rest", id)
}

// finishProgram ends a program with 0 without reconciling.
func (w *world) finishProgram(id rm.AllocationID) {
	w.Helper()
	w.changed(id, apiv1.Container_STATE_TERMINATED, &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED})
	w.endQuietly(id, rm.CauseExited)
}

// bring creates an experiment and brings it to a stage.
func (w *world) bring(to stage) int32 {
	w.Helper()
	made, err := w.x.Create(w.Context(), Order{By: ann(), Config: single, Activate: to != unborn})
	if err != nil {
		w.Fatal(err)
	}
	id := made.View.ID
	w.reconcileOne(id)
	if to == unborn || to == queued {
		return id
	}
	run := w.runOf(id)
	w.assign(run)
	if to == pulling {
		w.changed(run, apiv1.Container_STATE_PULLING, nil)
		return id
	}
	w.changed(run, apiv1.Container_STATE_RUNNING, nil)
	trials, err := w.x.Trials(w.Context(), id)
	if err == nil {
		err = w.x.StartRun(w.Context(), trials[0].ID)
	}
	if err != nil {
		w.Fatal(err)
	}
	switch to {
	case held:
		w.mustAct(id, "pause")
	case canceled:
		w.mustAct(id, "cancel")
	case completed:
		w.finishProgram(run)
	}
	w.settle(id)
	return id
}

func (w *world) mustAct(id int32, a action) {
	w.Helper()
	if err := w.act(id, a); err != nil {
		w.Fatal(err)
	}
}

// stageOf returns the displayed stage of an experiment, and checks that its task agrees.
func (w *world) stageOf(id int32) stage {
	w.Helper()
	x, err := w.x.Get(id)
	if err != nil {
		return deleted
	}
	e, _ := w.x.reconciler.reg.find(id)
	trials, err := w.x.Trials(w.Context(), id)
	if err != nil || len(trials) != 1 {
		w.Fatalf("experiment %d: got %d trials, %v", id, len(trials), err)
	}
	task, found := w.tasks.Status(rm.TaskID(trials[0].Task()))
	kept := w.tasks.Held(rm.JobID(e.snapshot().JobID))
	switch {
	case x.State == lifecycle.Paused && !found:
		return unborn
	case x.State == lifecycle.Paused && task.Held && len(kept) == 1:
		return held
	case x.State == lifecycle.Active && len(kept) == 0:
		return map[tasklife.State]stage{tasklife.Queued: queued, tasklife.Pulling: pulling, tasklife.Running: running}[task.State]
	case x.State == lifecycle.Completed && !found && len(kept) == 0:
		return completed
	case x.State == lifecycle.Deleting && !found && len(kept) == 0:
		return deleting
	case x.State == lifecycle.Canceled && !found && len(kept) == 0:
		return canceled
	}
	return fmt.Sprintf("%s with task %+v, known: %t, and %d held", x.State, task, found, len(kept))
}

// walk is two actions on an experiment, and the events between them.
type walk struct {
	from          stage
	first, second action
	between       string
}

// want returns the expected stage after both actions, and which of them are refused.
func (k walk) want() (s stage, refusals [2]bool) {
	s = k.from
	for i, a := range []action{k.first, k.second} {
		signalled := i == 1 && k.between == "signalled"
		next := nextStage(s, a, signalled)
		switch {
		case next == refused:
			refusals[i] = true
		case s == pausing && a == "activate" && !signalled:
			s = k.from
		default:
			s = next
		}
		if i == 0 && k.between == "settled" {
			s = settled(s)
		}
	}
	return settled(s), refusals
}

func (k walk) run(w *world) (id int32) {
	w.Helper()
	id = w.bring(k.from)
	if got := w.stageOf(id); got != k.from {
		w.Fatalf("%+v: it begins as %q", k, got)
	}
	var follows []<-chan struct{}
	trials, _ := w.x.Trials(w.Context(), id)
	if done, err := w.tasks.Done(w.Context(), trials[0].Task()); err == nil {
		follows = append(follows, done)
	}
	want, refusals := k.want()
	for i, a := range []action{k.first, k.second} {
		if err := w.act(id, a); (err != nil) != refusals[i] {
			w.Errorf("%+v: %s: got %v, want an error: %t", k, a, err, refusals[i])
		}
		if i == 0 && k.between == "signalled" {
			w.reconcileOne(id)
		}
		if i == 0 && k.between == "settled" {
			w.settle(id)
		}
	}
	w.settle(id)
	neverReported := slices.Contains([]stage{unborn, queued, pulling}, k.from) // it has no files
	if got := w.stageOf(id); got != want && (want != deleting || !neverReported || got != deleted) {
		w.Errorf("%+v: it ends as %q, want %q", k, got, want)
	}
	for _, done := range follows {
		select {
		case <-done:
		default:
			if slices.Contains([]stage{completed, canceled, deleting}, want) {
				w.Errorf("%+v: readers of its log wait for more", k)
			}
		}
	}
	return id
}

// walks returns all pairs of actions in a stage: in succession, after the program was asked to stop,
// and after it has stopped.
func walks(from stage) []walk {
	var out []walk
	for _, first := range actions() {
		for _, second := range actions() {
			out = append(out, walk{from, first, second, "nothing"})
			if next := nextStage(from, first, false); next != refused && next != from {
				out = append(out, walk{from, first, second, "signalled"}, walk{from, first, second, "settled"})
			}
		}
	}
	return out
}

// deleteFiles runs the tasks that delete files until no deletion is pending.
func (w *world) deleteFiles() {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { return w.ckpts.Run(ctx) })
	w.await("all deletions", func() bool {
		for _, a := range w.machine.open() {
			if r, _ := w.machine.Allocation(a); !strings.Contains(string(r.Request.Task), ".") { // not a trial
				w.placeAllocation(a)
				w.finishProgram(a)
			}
		}
		left := 0
		for _, e := range w.x.reconciler.reg.all() {
			if e.snapshot().State == lifecycle.Deleting {
				left++
				w.reconcileOne(e.id)
			}
		}
		return left == 0
	})
	cancel()
	if err := g.Wait(); err != nil {
		w.Error(err)
	}
}

func TestActionPairs(t *testing.T) {
	t.Parallel()
	for _, from := range []stage{unborn, queued, pulling, running, held, completed, canceled} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			all := map[int32]walk{}
			for _, k := range walks(from) {
				all[k.run(w)] = k
			}
			w.restart()
			w.deleteFiles()
			for id, k := range all {
				want, _ := k.want()
				if want == deleting {
					want = deleted
				}
				if got := w.stageOf(id); got != want {
					t.Errorf("%+v: after a restart it is %q, want %q", k, got, want)
				}
			}
		})
	}
}
