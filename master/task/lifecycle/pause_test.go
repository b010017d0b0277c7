package lifecycle

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/rm"
)

func TestPauseStates(t *testing.T) {
	t.Parallel()
	task := Task{ID: "t", Name: "x", Kind: Generic}
	runs := placed(1)
	paused, asked := task.Pause(runs, "ann", at(3))
	if reason, must := asked.MustPause(); !paused.Paused || !must || reason != "paused by user ann" || paused.PauseState(&asked) != Stopping {
		t.Errorf("got %t, %q and %s, want an allocation that must stop", must, reason, paused.PauseState(&asked))
	}
	told := asked.Preempt("paused by user ann", at(4), at(99))
	if _, must := told.MustPause(); must {
		t.Error("an allocation is asked to stop twice")
	}
	rested, err := ended(told, 0, exited(143)).Finish(rm.End{Cause: rm.CausePreempted, At: at(6)}, false)
	if err != nil || !rested.End.Again || paused.PauseState(&rested) != Resting {
		t.Fatalf("got %+v and %v, want a task that rests", rested.End, err)
	}
	resumed, next, queued := paused.Resume(rested, at(7))
	if !queued || next.Number != 2 || next.Pause != nil || resumed.PauseState(&next) != Active {
		t.Errorf("got %+v, want the next allocation", next)
	}
	if again, same, queued := paused.Resume(told, at(7)); queued || again.Paused || same.ID != told.ID {
		t.Errorf("got %+v, want an allocation that has yet to stop", same)
	}
	killed, last := paused.KillPaused(rested, "bob", at(8))
	if killed.Ended.IsZero() || killed.Paused || last.End.Cause != rm.CauseKilled || last.End.Status != "killed by user bob" {
		t.Errorf("got %+v and %+v, want a killed task", killed, last.End)
	}
	if killed, _ := paused.KillPaused(told, "bob", at(8)); !killed.Ended.IsZero() {
		t.Error("a task whose program runs was ended")
	}
	if again, _ := task.Pause(runs.Kill("killed by user ann", at(2)), "ann", at(3)); again.Paused {
		t.Error("a task that is being killed was paused")
	}
}
