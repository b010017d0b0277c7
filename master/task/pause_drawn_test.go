package task_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// paused is one generic task under random events.
type paused struct {
	*master
	t    *rapid.T
	id   string
	live rm.AllocationID // held by the resource manager; "" for none
	gone map[rm.AllocationID]bool
	runs bool
}

func (p *paused) state() apiv1.GenericTaskState { return p.shown(p.id).GetTaskState() }

func (p *paused) hasEnded() bool { return p.shown(p.id).GetEndTime() != nil }

// check compares the state of the task with what the resource manager holds: one allocation at a time.
func (p *paused) check(step string) {
	p.machine.mu.Lock()
	for id := range p.machine.submitted {
		if p.gone[id] || id == p.live {
			continue
		}
		if p.live != "" {
			p.t.Fatalf("after %s: %s was submitted while %s runs", step, id, p.live)
		}
		p.live, p.runs = id, false
	}
	asked := p.machine.preempts[p.live] != "" || p.machine.kills[p.live] != ""
	p.machine.mu.Unlock()
	holds := p.live != ""
	switch s := p.state(); {
	case p.hasEnded() && holds:
		p.t.Fatalf("after %s: an ended task has allocation %s", step, p.live)
	case p.hasEnded():
	case s == apiv1.GenericTaskState_GENERIC_TASK_STATE_PAUSED && holds:
		p.t.Fatalf("after %s: a paused task has allocation %s", step, p.live)
	case s == apiv1.GenericTaskState_GENERIC_TASK_STATE_STOPPING_PAUSED && !asked:
		p.t.Fatalf("after %s: allocation %q was not asked to stop", step, p.live)
	case s != apiv1.GenericTaskState_GENERIC_TASK_STATE_PAUSED && !holds:
		p.t.Fatalf("after %s: a task that is %s has no allocation", step, s)
	}
}

func (p *paused) begin() {
	if p.live == "" || p.runs {
		return
	}
	if _, err := p.tasks.Assigned(p.master.t.Context(), assignment(p.live, 1)); err == nil {
		p.changed(p.live, 0, running, nil)
		p.runs = true
	}
}

// end simulates the end of the allocation, for the reason for which it was asked to, or with an exit code.
func (p *paused) end(code int32) {
	if p.live == "" {
		return
	}
	id, cause, reason := p.live, rm.CauseExited, ""
	p.machine.mu.Lock()
	preempted, killed := p.machine.preempts[id], p.machine.kills[id]
	p.machine.mu.Unlock()
	switch {
	case killed != "":
		cause, reason, code = rm.CauseKilled, killed, 137
	case preempted != "":
		cause, reason, code = rm.CausePreempted, preempted, 143
		if _, err := p.tasks.Preempted(p.master.t.Context(), id, reason, time.Now()); err != nil {
			p.t.Fatal(err)
		}
	case !p.runs:
		return
	}
	if p.runs {
		p.changed(id, 0, terminated, exit(code))
	}
	p.gone[id], p.live = true, ""
	p.ended(id, cause, reason)
}

func (p *paused) step() {
	ctx := p.master.t.Context()
	step := rapid.SampledFrom([]string{"pause", "pause", "unpause", "unpause", "kill", "begin", "begin", "end", "lost", "restart"}).Draw(p.t, "step")
	var err error
	switch step {
	case "pause":
		err = p.tasks.PauseGeneric(ctx, ann(), p.id)
	case "unpause":
		err = p.tasks.UnpauseGeneric(ctx, ann(), p.id)
	case "kill":
		if rapid.IntRange(0, 3).Draw(p.t, "seldom") == 0 {
			err = p.tasks.KillGeneric(ctx, ann(), p.id, false)
		}
	case "begin":
		p.begin()
	case "end":
		p.end(rapid.Int32Range(0, 1).Draw(p.t, "code"))
	case "lost": // the resource manager forgets what the master's last process has asked for
		p.machine.forgetPreempts()
		p.restart()
	case "restart":
		p.restart()
	}
	if err != nil && status.Of(err) != status.FailedPrecondition {
		p.t.Fatalf("%s: %v", step, err)
	}
	p.check(step)
}

// For any order of events and interruptions, a generic task has one allocation at a time, none while it is
// paused, and one again once it was resumed.
func TestPausesUnderRandomEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		m := newMaster(t)
		p := &paused{master: m, t: r, gone: map[rm.AllocationID]bool{}}
		p.id = m.generic(&apiv1.CreateGenericTaskRequest{})
		p.check("creation")
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			p.step()
		}
		for range 3 { // an allocation that stops for a pause, and the last one
			if p.hasEnded() {
				return
			}
			if err := p.tasks.UnpauseGeneric(t.Context(), ann(), p.id); err != nil && status.Of(err) != status.FailedPrecondition {
				r.Fatal(err)
			}
			p.check("the last unpause")
			p.begin()
			p.end(0)
			p.check("the last end")
		}
		if !p.hasEnded() {
			r.Fatalf("the task does not end: %s", p.state())
		}
	})
}
