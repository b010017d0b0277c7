package lifecycle

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// over returns an ended allocation.
func over(t *testing.T, a Allocation, e rm.End) Allocation {
	t.Helper()
	a, err := a.Finish(e, false)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStatusIsOneWord(t *testing.T) {
	t.Parallel()
	in := func(s apiv1.Container_State) Allocation {
		return placed(1).Change(rm.ContainerChange{Container: id(0), State: s, At: at(2)})
	}
	queued, running := First(Task{ID: "t"}, at(0)), in(apiv1.Container_STATE_RUNNING)
	killed := running.KillBy("ann", at(4))
	outOfMemory := exited(137)
	outOfMemory.Message = "it used too much memory (OOMKilled)"
	noImage := &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, Message: "no such image"}
	for name, tt := range map[string]struct {
		a    Allocation
		want apiv1.Status
		note string
	}{
		"not placed":                {queued, apiv1.StatusQueued, ""},
		"placed":                    {placed(2), apiv1.StatusScheduled, ""},
		"one of two pulls":          {placed(2).Change(rm.ContainerChange{Container: id(1), State: apiv1.Container_STATE_PULLING}), apiv1.StatusPulling, ""},
		"starting":                  {in(apiv1.Container_STATE_STARTING), apiv1.StatusStarting, ""},
		"running":                   {running, apiv1.StatusRunning, ""},
		"being killed":              {killed, apiv1.StatusRunning, "stopping: killed by user ann"},
		"being preempted":           {running.Preempt("preempted for x", at(3), at(9)), apiv1.StatusRunning, "stopping: preempted for x"},
		"its program has ended":     {ended(running, 0, exited(0)), apiv1.StatusRunning, ""},
		"killed":                    {over(t, ended(killed, 0, exited(137)), rm.End{Cause: rm.CauseKilled}), apiv1.StatusKilled, "killed by user ann"},
		"killed while it waited":    {over(t, queued.KillBy("ann", at(1)), rm.End{Cause: rm.CauseKilled}), apiv1.StatusKilled, "killed by user ann"},
		"succeeded":                 {over(t, ended(running, 0, exited(0)), rm.End{Cause: rm.CauseExited}), apiv1.StatusSucceeded, ""},
		"failed":                    {over(t, ended(running, 0, exited(3)), rm.End{Cause: rm.CauseExited}), apiv1.StatusFailed, ""},
		"failed for a known reason": {over(t, ended(running, 0, outOfMemory), rm.End{Cause: rm.CauseExited}), apiv1.StatusFailed, outOfMemory.GetMessage()},
		"not started":               {over(t, ended(placed(1), 0, noImage), rm.End{Cause: rm.CauseExited}), apiv1.StatusFailed, "resources could not be started: no such image"},
		"refused":                   {over(t, queued, rm.End{Cause: rm.CauseRefused, Reason: "no such pool"}), apiv1.StatusFailed, "no such pool"},
		"preempted":                 {over(t, ended(running.Preempt("for x", at(3), at(9)), 0, exited(143)), rm.End{Cause: rm.CausePreempted}), apiv1.StatusPreempted, "for x"},
		"lost":                      {over(t, running, rm.End{Cause: rm.CauseAgentLost, Reason: "agent a was lost"}), apiv1.StatusLost, "agent a was lost"},
	} {
		if got := tt.a.Status(); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if got := tt.a.EndNote() + tt.a.StopNote(); got != tt.note {
			t.Errorf("%s: got note %q, want %q", name, got, tt.note)
		}
	}
	if got := killed.Killed.User; got != "ann" {
		t.Errorf("got user %q, want ann", got)
	}
	if again := killed.KillBy("bob", at(5)); again.Killed.User != "ann" {
		t.Errorf("got user %q after a second kill, want the first one", again.Killed.User)
	}
}
