package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func at(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0).UTC() }

func TestTheTableOfStates(t *testing.T) {
	t.Parallel()
	for _, from := range stateOrder() {
		for _, to := range stateOrder() {
			a := Allocation{State: from}
			err := a.moveTo(to)
			want := slices.Index(stateOrder(), from) < slices.Index(stateOrder(), to)
			if (err == nil) != want {
				t.Errorf("from %s to %s: got %v, want allowed: %v", from, to, err, want)
			}
		}
	}
}

func TestEveryStateHasItsNameInTheAPI(t *testing.T) {
	t.Parallel()
	for _, s := range stateOrder() {
		if s.API() == apiv1.Task_STATE_UNSPECIFIED {
			t.Errorf("state %s is unknown to clients", s)
		}
	}
	for _, s := range containerOrder() {
		if back, ok := containerState(s.API()); !ok || back != s {
			t.Errorf("container state %s: got %s back", s, back)
		}
	}
}

func placed(containers int) Allocation {
	a := First(Task{ID: "t", Name: "x"}, at(0))
	a, err := a.Assign(assignment(containers))
	if err != nil {
		panic(err)
	}
	return a
}

func assignment(containers int) rm.Assignment {
	as := rm.Assignment{Allocation: "t.1", At: at(1)}
	for i := range containers {
		as.Containers = append(as.Containers, rm.Container{ID: id(i), Rank: i})
	}
	return as
}

func id(rank int) rm.ContainerID { return rm.ContainerID(fmt.Sprintf("c%d", rank)) }

func ended(a Allocation, rank int, x *agentv1.Exit) Allocation {
	return a.Change(rm.ContainerChange{Container: id(rank), State: apiv1.Container_STATE_TERMINATED, Exit: x, At: at(5)})
}

func exited(code int32) *agentv1.Exit {
	return &agentv1.Exit{Kind: agentv1.Exit_KIND_EXITED, Code: code}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	code := func(n int32) *int32 { return &n }
	const failed = "resources failed with non-zero exit code: container failed with non-zero exit code: %d (exit code %d)"
	for _, tt := range []struct {
		name        string
		before      func() Allocation
		end         rm.End
		preemptible bool
		want        Ending
	}{
		{
			"all succeeded", func() Allocation { return ended(placed(1), 0, exited(0)) },
			rm.End{Cause: rm.CauseExited},
			false,
			Ending{Cause: rm.CauseExited, Status: Success, Code: code(0)},
		},
		{
			"the program failed", func() Allocation { return ended(placed(1), 0, exited(3)) },
			rm.End{Cause: rm.CauseExited},
			true,
			Ending{Cause: rm.CauseExited, Status: fmt.Sprintf(failed, 3, 3), Code: code(3)},
		},
		{
			"its program was killed for its memory", func() Allocation {
				x := exited(137)
				x.Message = "it used too much memory (OOMKilled)"
				return ended(placed(1), 0, x)
			},
			rm.End{Cause: rm.CauseExited},
			true,
			Ending{Cause: rm.CauseExited, Status: fmt.Sprintf(failed, 137, 137) + "; it used too much memory (OOMKilled)", Code: code(137)},
		},
		{
			"it failed before it was killed", func() Allocation { return ended(placed(1), 0, exited(3)).Kill("killed by user ann", at(6)) },
			rm.End{Cause: rm.CauseKilled},
			false,
			Ending{Cause: rm.CauseExited, Status: fmt.Sprintf(failed, 3, 3), Code: code(3)},
		},
		{
			"it was killed", func() Allocation { return ended(placed(1).Kill("killed by user ann", at(4)), 0, exited(137)) },
			rm.End{Cause: rm.CauseKilled},
			true,
			Ending{Cause: rm.CauseKilled, Status: "killed by user ann"},
		},
		{
			"it was killed before it was placed", func() Allocation { return First(Task{ID: "t"}, at(0)).Kill("killed by user ann", at(4)) },
			rm.End{Cause: rm.CauseRefused, Reason: "not assigned"},
			false,
			Ending{Cause: rm.CauseKilled, Status: "killed by user ann"},
		},
		{
			"it was told to end, and exited with 0", func() Allocation { return ended(placed(1).Kill("killed by user ann", at(4)), 0, exited(0)) },
			rm.End{Cause: rm.CauseKilled, Stopped: true},
			false,
			Ending{Cause: rm.CauseKilled, Status: "killed by user ann"},
		},
		{
			"it succeeded although it was to be killed", func() Allocation { return ended(placed(1).Kill("killed by user ann", at(4)), 0, exited(0)) },
			rm.End{Cause: rm.CauseKilled},
			false,
			Ending{Cause: rm.CauseExited, Status: Success, Code: code(0)},
		},
		{
			"a worker failed first, the chief was killed for it", func() Allocation { return ended(ended(placed(2), 1, exited(9)), 0, exited(137)) },
			rm.End{Cause: rm.CauseKilled},
			false,
			Ending{Cause: rm.CauseExited, Status: fmt.Sprintf(failed, 9, 9), Code: code(9)},
		},
		{
			"preempted, and not to be run again", func() Allocation { return ended(placed(1).Preempt("slots are needed", at(2), at(9)), 0, exited(143)) },
			rm.End{Cause: rm.CauseExited},
			false,
			Ending{Cause: rm.CausePreempted, Status: "slots are needed"},
		},
		{
			"preempted, to be run again", func() Allocation { return ended(placed(1).Preempt("slots are needed", at(2), at(9)), 0, exited(143)) },
			rm.End{Cause: rm.CausePreempted},
			true,
			Ending{Cause: rm.CausePreempted, Status: "slots are needed", Again: true},
		},
		{
			"it stopped with 0 because it was asked to", func() Allocation {
				return ended(placed(1).Preempt("slots are needed", at(2), at(9)).Acknowledge(), 0, exited(0))
			},
			rm.End{Cause: rm.CauseExited},
			true,
			Ending{Cause: rm.CausePreempted, Status: "slots are needed", Again: true},
		},
		{
			"it reached its own end before it saw the signal", func() Allocation {
				return ended(placed(1).Listen().Preempt("slots are needed", at(2), at(9)), 0, exited(0))
			},
			rm.End{Cause: rm.CausePreempted, Reason: "slots are needed"},
			true,
			Ending{Cause: rm.CauseExited, Status: Success, Code: code(0)},
		},
		{
			"it ended with 0 upon SIGTERM", func() Allocation { return ended(placed(1).Preempt("slots are needed", at(2), at(9)), 0, exited(0)) },
			rm.End{Cause: rm.CausePreempted, Reason: "slots are needed"},
			true,
			Ending{Cause: rm.CausePreempted, Status: "slots are needed", Again: true},
		},
		{
			"its agent was lost", func() Allocation { return ended(placed(1), 0, &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST}) },
			rm.End{Cause: rm.CauseAgentLost, Reason: "agent a1 was lost"},
			false,
			Ending{Cause: rm.CauseAgentLost, Status: "agent a1 was lost"},
		},
		{
			"its agent was lost, to be run again", func() Allocation { return placed(1) },
			rm.End{Cause: rm.CauseAgentLost, Reason: "agent a1 was lost"},
			true,
			Ending{Cause: rm.CauseAgentLost, Status: "agent a1 was lost", Again: true},
		},
		{
			"no image", func() Allocation {
				return ended(placed(1), 0, &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, Message: "no such image"})
			},
			rm.End{Cause: rm.CauseExited},
			true,
			Ending{Cause: rm.CauseExited, Status: "resources could not be started: no such image"},
		},
		{
			"the pool went away", func() Allocation { return First(Task{ID: "t"}, at(0)) },
			rm.End{Cause: rm.CauseRefused, Reason: "no such resource pool"},
			true,
			Ending{Cause: rm.CauseRefused, Status: "no such resource pool"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.end.At = at(10)
			tt.want.At = at(10)
			a, err := tt.before().Finish(tt.end, tt.preemptible)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(*a.End, tt.want); d != "" {
				t.Errorf("-got +want:\n%s", d)
			}
		})
	}
}

func TestTheMostProgressedContainerIsTheState(t *testing.T) {
	t.Parallel()
	a := placed(2)
	for _, tt := range []struct {
		rank int
		to   apiv1.Container_State
		want State
	}{
		{0, apiv1.Container_STATE_PULLING, Pulling},
		{1, apiv1.Container_STATE_RUNNING, Running},
		{0, apiv1.Container_STATE_STARTING, Running},
		{0, apiv1.Container_STATE_RUNNING, Running},
		{1, apiv1.Container_STATE_PULLING, Running},
	} {
		a = a.Change(rm.ContainerChange{Container: id(tt.rank), State: tt.to, At: at(3)})
		if a.State != tt.want {
			t.Errorf("container %d is %v: got %s, want %s", tt.rank, tt.to, a.State, tt.want)
		}
	}
}

func TestAllocationMayBeReplacedUntilItStarts(t *testing.T) {
	t.Parallel()
	as := assignment(1)
	as.Containers[0].ID = "other"
	a, err := placed(1).Assign(as)
	if err != nil || a.Containers[0].ID != "other" || len(a.Lines) != 2 {
		t.Errorf("got %v and %v, want the new place and no second line", a, err)
	}
	a = a.Change(rm.ContainerChange{Container: "other", State: apiv1.Container_STATE_PULLING, At: at(2)})
	if _, err := a.Assign(assignment(1)); err == nil {
		t.Error("started elsewhere: got no error")
	}
}

// For any events in any order and with any repetitions, an allocation only advances, logs nothing twice,
// and its end is final.
func TestDrawnHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := Task{ID: "t", Name: "x", Preemptible: rapid.Bool().Draw(t, "preemptible")}
		a := First(task, at(0))
		n := rapid.IntRange(1, 3).Draw(t, "containers")
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			before := a
			step := drawStep(t, n, at(i))
			var err error
			if a, err = step(a, task); err == nil {
				again, errAgain := step(a, task)
				if d := cmp.Diff(again, a); d != "" || errAgain != nil {
					t.Fatalf("the same news twice changes something (%v):\n%s", errAgain, d)
				}
			}
			checkStep(t, before, a)
		}
	})
}

type step func(Allocation, Task) (Allocation, error)

func drawStep(t *rapid.T, n int, now time.Time) step {
	rank := rapid.IntRange(0, n-1).Draw(t, "rank")
	state := rapid.SampledFrom(containerOrder()).Draw(t, "state").API()
	x := &agentv1.Exit{
		Kind: rapid.SampledFrom([]agentv1.Exit_Kind{agentv1.Exit_KIND_EXITED, agentv1.Exit_KIND_NOT_STARTED, agentv1.Exit_KIND_LOST}).Draw(t, "kind"),
		Code: rapid.SampledFrom([]int32{0, 0, 1, 137}).Draw(t, "code"),
	}
	cause := rapid.SampledFrom([]rm.Cause{rm.CauseExited, rm.CauseKilled, rm.CausePreempted, rm.CauseAgentLost, rm.CauseRefused}).Draw(t, "cause")
	plain := func(f func(Allocation) Allocation) step {
		return func(a Allocation, _ Task) (Allocation, error) { return f(a), nil }
	}
	change := plain(func(a Allocation) Allocation {
		return a.Change(rm.ContainerChange{Container: id(rank), Rank: rank, State: state, Exit: x, At: now})
	})
	return rapid.SampledFrom([]step{
		func(a Allocation, _ Task) (Allocation, error) { return a.Assign(assignment(n)) },
		change, change, change, change,
		plain(func(a Allocation) Allocation { return a.Kill("killed by user ann", now) }),
		plain(func(a Allocation) Allocation { return a.Preempt("slots are needed", now, now) }),
		plain(Allocation.Acknowledge),
		plain(func(a Allocation) Allocation { return a.Report(true, now) }),
		func(a Allocation, task Task) (Allocation, error) {
			return a.Finish(rm.End{Cause: cause, At: now}, task.Preemptible)
		},
	}).Draw(t, "step")
}

func checkStep(t *rapid.T, before, after Allocation) {
	if slices.Index(stateOrder(), after.State) < slices.Index(stateOrder(), before.State) {
		t.Fatalf("got from %s back to %s", before.State, after.State)
	}
	if len(after.Lines) < len(before.Lines) || !slices.Equal(after.Lines[:len(before.Lines)], before.Lines) {
		t.Fatalf("earlier lines have changed: %v, %v", before.Lines, after.Lines)
	}
	if before.Over() && !cmp.Equal(before, after) {
		t.Fatalf("changed after its end:\n%s", cmp.Diff(before, after))
	}
	if after.Over() != (after.End != nil) {
		t.Fatalf("over is %v and the end is %v", after.Over(), after.End)
	}
	if _, doomed := after.Doomed(); doomed && after.Over() {
		t.Fatal("an ended allocation must not be killed")
	}
	seen := map[string]bool{}
	for _, l := range after.Lines {
		repeatable := strings.HasPrefix(l.Text, "resources exited") // once per container
		if seen[l.Text] && !repeatable {
			t.Fatalf("logged twice: %s", l.Text)
		}
		seen[l.Text] = true
	}
}

func TestPreemptedContainerExitDoesNotKillTheGang(t *testing.T) {
	t.Parallel()
	a := ended(placed(2).Preempt("slots are needed", at(2), at(9)), 0, exited(143))
	if reason, doomed := a.Doomed(); doomed {
		t.Errorf("the other is killed: %s", reason)
	}
	crashed := ended(placed(2).Preempt("slots are needed", at(2), at(9)), 0, exited(1))
	if _, doomed := crashed.Doomed(); !doomed {
		t.Error("the other continues without the one that crashed")
	}
	done, err := ended(a, 1, exited(0)).Finish(rm.End{Cause: rm.CausePreempted, At: at(5)}, true)
	if err != nil || !done.End.Again {
		t.Errorf("got %+v and %v, want it run again", done.End, err)
	}
}

func TestOneLinePerKindOfWait(t *testing.T) {
	t.Parallel()
	a := First(Task{ID: "t", Name: "x"}, at(0))
	for _, w := range []rm.Wait{
		{Kind: "quota", Reason: "no quota", At: at(1), Next: at(31)},
		{Kind: "quota", Reason: "no quota, again", At: at(31), Next: at(91)},
		{Kind: "denied", Reason: "not allowed", At: at(91)},
	} {
		a = a.Wait(w)
	}
	a, err := a.Assign(assignment(1))
	if err != nil {
		t.Fatal(err)
	}
	a = a.Change(rm.ContainerChange{Container: id(0), State: apiv1.Container_STATE_PULLING, At: at(92)})
	a = a.Wait(rm.Wait{Kind: "start", Reason: "no such image", At: at(93)})
	a = a.Change(rm.ContainerChange{Container: id(0), State: apiv1.Container_STATE_RUNNING, At: at(94)})
	a = a.Wait(rm.Wait{Kind: "quota", Reason: "late", At: at(99)})
	var got []string
	for _, l := range a.Lines[1:] {
		got = append(got, l.Text)
	}
	want := []string{
		"x is waiting: no quota; next try in 30s", "x is waiting: not allowed", "x was assigned to an agent",
		"x is waiting: no such image", "Resources for x have started",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got −, want +:\n%s", diff)
	}
}
