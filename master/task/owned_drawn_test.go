package task_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

// drawn is one owned task under random events, and the state known outside the master.
type drawn struct {
	*master
	t     *rapid.T
	order []task.Next     // the owner's decision for each run; Done beyond the end
	live  rm.AllocationID // held by the resource manager, its end not yet accepted by the tasks
	ended *rm.End         // how that has ended, if it has
	gone  map[rm.AllocationID]bool
	owed  map[rm.AllocationID]rm.End // ended, and to be reported again
	// retired is set when the task was ended while it was held.
	retired bool
}

func (d *drawn) nextOf(run int) task.Next {
	if run > len(d.order) {
		return task.Done
	}
	return d.order[run-1]
}

// observe checks the submissions: one allocation at a time, and none twice.
func (d *drawn) observe() {
	d.machine.mu.Lock()
	defer d.machine.mu.Unlock()
	for id := range d.machine.submitted {
		if id == d.live || d.gone[id] {
			continue
		}
		if d.live != "" && d.ended == nil {
			d.t.Fatalf("%s was submitted while %s runs", id, d.live)
		}
		if d.ended != nil { // the tasks know it from their own store, and will receive it again
			d.owed[d.live], d.gone[d.live] = *d.ended, true
		}
		d.live, d.ended = id, nil
	}
}

func (d *drawn) start(run int) {
	answers := d.owner.fail+d.owner.lose == 0
	if err := d.tasks.Start(d.master.t.Context(), trial("1.a", run)); err != nil && answers {
		d.t.Fatalf("start run %d: %v", run, err)
	}
	d.observe()
}

// tell reports the end of the allocation until the tasks have accepted it.
func (d *drawn) tell() {
	for id, end := range d.owed {
		if d.tasks.Ended(d.master.t.Context(), id, end) == nil {
			delete(d.owed, id)
		}
	}
	d.observe()
	if d.live == "" || d.ended == nil {
		return
	}
	if err := d.tasks.Ended(d.master.t.Context(), d.live, *d.ended); err != nil {
		return // it is reported again
	}
	d.gone[d.live], d.live, d.ended = true, "", nil
	d.observe()
}

func (d *drawn) step() {
	ctx := d.master.t.Context()
	switch s := rapid.SampledFrom([]string{"start", "assign", "run", "exit", "lost", "tell", "tell", "restart", "signal", "kill", "change", "fail", "lose"}).Draw(d.t, "step"); s {
	case "start":
		d.start(rapid.IntRange(1, len(d.owner.decided)+1).Draw(d.t, "run"))
	case "assign", "run", "exit", "lost":
		d.advance(s)
	case "tell":
		d.tell()
	case "restart":
		d.owner.fail, d.owner.lose = 0, 0
		d.restart()
		d.observe()
	case "signal":
		d.check(d.tasks.Signal(ctx, "1.a", "the experiment was paused"))
	case "kill":
		st, found := d.tasks.Status("1.a")
		d.check(d.tasks.End(ctx, "1.a", "the experiment was killed"))
		d.retired = d.retired || found && st.Held
	case "change":
		priority := rapid.IntRange(1, 99).Draw(d.t, "priority")
		_ = d.tasks.Change(ctx, "exp1", rm.Change{Priority: &priority})
	case "fail":
		d.owner.fail = d.owner.asked + rapid.IntRange(1, 2).Draw(d.t, "times")
	case "lose":
		d.owner.lose = 1
	}
}

func (d *drawn) check(err error) {
	if err != nil {
		d.t.Fatal(err)
	}
}

// advance simulates an event of the allocation on its machine.
func (d *drawn) advance(what string) {
	if d.live == "" || d.ended != nil {
		return
	}
	ctx := d.master.t.Context()
	change := func(x rm.ContainerChange) {
		x.Allocation, x.Container, x.At = d.live, containerID(d.live, 0), time.Now()
		d.check(d.tasks.Changed(ctx, x))
	}
	switch what {
	case "assign":
		_, _ = d.tasks.Assigned(ctx, assignment(d.live, 1)) // fails if it was killed
	case "run":
		change(rm.ContainerChange{State: running})
	case "exit":
		change(rm.ContainerChange{State: terminated, Exit: exit(int32(rapid.IntRange(0, 1).Draw(d.t, "code")))})
		d.ended = &rm.End{Cause: rm.CauseExited, At: time.Now()}
	case "lost":
		cause := rapid.SampledFrom([]rm.Cause{rm.CauseAgentLost, rm.CausePreempted, rm.CauseKilled, rm.CauseNotHere, rm.CauseRefused}).Draw(d.t, "cause")
		d.ended = &rm.End{Cause: cause, Reason: "a machine's doing", At: time.Now()}
	}
}

// settleAll continues until nothing more happens, and compares the result with the owner's decisions.
func (d *drawn) settleAll() {
	d.owner.fail, d.owner.lose = 0, 0
	for range 3 { // a lost answer, then the next allocation, which may have ended as well
		d.tell()
	}
	d.restart()
	d.observe()
	for i, e := range d.owner.ends {
		if e.Run != i+1 {
			d.t.Fatalf("the reported runs are not consecutive: %+v", d.owner.ends)
		}
		if e.Cause == rm.CauseNotHere {
			d.t.Fatalf("got a report of an allocation that could not be started: %+v", e)
		}
	}
	n := len(d.owner.ends)
	st, found := d.tasks.Status("1.a")
	next := task.Again
	if n > 0 {
		next = d.nextOf(n)
	}
	switch next {
	case task.Done:
		if found || d.live != "" {
			d.t.Fatalf("it is done, and there is %+v and allocation %q", st, d.live)
		}
	case task.Hold:
		if d.retired {
			if found || d.live != "" {
				d.t.Fatalf("it was ended while it was held after run %d, and there is %+v and allocation %q", n, st, d.live)
			}
			return
		}
		if !found || (st.Held == (d.live != "")) {
			d.t.Fatalf("it was held after run %d: %+v, allocation %q", n, st, d.live)
		}
	case task.Again:
		if !found || st.Held || st.Run != n+1 || st.Allocation != d.live {
			d.t.Fatalf("after run %d, which is to be followed by another: %+v, allocation %q", n, st, d.live)
		}
	}
}

// For any order of events, repetitions, failures and interruptions, an owned task has one allocation at
// a time, its owner decides once about each run, and its decisions are carried out.
func TestOwnedTasksUnderRandomEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		d := &drawn{t: r, gone: map[rm.AllocationID]bool{}, owed: map[rm.AllocationID]rm.End{}}
		d.order = rapid.SliceOfN(rapid.SampledFrom([]task.Next{task.Again, task.Again, task.Hold}), 0, 5).Draw(r, "order")
		d.master = newOwnedMaster(t, newOwner(func(e task.RunEnd) task.Next { return d.nextOf(e.Run) }))
		d.start(1)
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			d.step()
		}
		d.settleAll()
		seen := map[string]bool{}
		for _, line := range d.lines("1.a") {
			if strings.Contains(line, "Scheduling") && seen[line] {
				r.Fatalf("logged twice: %s", line)
			}
			seen[line] = true
		}
	})
}
