package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func noRoom() *agentv1.Exit {
	return &agentv1.Exit{Kind: agentv1.Exit_KIND_NOT_STARTED, NotHere: true, Message: "no space left on device"}
}

func runs(a Allocation, rank int) Allocation {
	return a.Change(rm.ContainerChange{Container: id(rank), State: apiv1.Container_STATE_RUNNING, At: at(2)})
}

func TestTaskThatNeverRanIsRequeued(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		before      func() Allocation
		preemptible bool
		again       bool
		cause       rm.Cause
	}{
		{"one container", func() Allocation { return ended(placed(1), 0, noRoom()) }, false, true, rm.CauseNotHere},
		{"part of a gang while another was running", func() Allocation {
			return ended(ended(runs(placed(2), 0), 1, noRoom()), 0, exited(137))
		}, false, true, rm.CauseNotHere},
		{"part of a gang after another has succeeded", func() Allocation {
			return ended(ended(placed(2), 0, exited(0)), 1, noRoom())
		}, false, false, rm.CauseAgentLost},
		{"the same, of a preemptible task", func() Allocation {
			return ended(ended(placed(2), 0, exited(0)), 1, noRoom())
		}, true, true, rm.CauseAgentLost},
		{"somebody has killed it", func() Allocation {
			return ended(placed(1).Kill("killed by ann", at(3)), 0, noRoom())
		}, true, false, rm.CauseKilled},
		{"somebody kills it while the rest of its gang ends", func() Allocation {
			return ended(ended(placed(2), 1, noRoom()).Kill("killed by ann", at(3)), 0, exited(137))
		}, true, false, rm.CauseKilled},
	} {
		a, err := tt.before().Finish(rm.End{Cause: rm.CauseNotHere, Reason: "agent a: full", At: at(6)}, tt.preemptible)
		if err != nil {
			t.Fatal(err)
		}
		if a.End.Again != tt.again || a.End.Cause != tt.cause {
			t.Errorf("%s: got %+v, want again: %v for %s", tt.name, a.End, tt.again, tt.cause)
		}
	}
}

func TestKilledTaskIsNeverRequeued(t *testing.T) {
	t.Parallel()
	lost := &agentv1.Exit{Kind: agentv1.Exit_KIND_LOST}
	for cause, want := range map[rm.Cause]rm.Cause{rm.CauseAgentLost: rm.CauseKilled, rm.CausePreempted: rm.CausePreempted} {
		a, err := ended(placed(1), 0, lost).Kill("killed by ann", at(3)).Finish(rm.End{Cause: cause, At: at(6)}, true)
		if err != nil {
			t.Fatal(err)
		}
		if a.End.Again || a.End.Cause != want {
			t.Errorf("it ended as %s: got %+v, want %s for good", cause, a.End, want)
		}
	}
}

func TestTheAgentsThatHadNoRoomAreAvoided(t *testing.T) {
	t.Parallel()
	task := Task{ID: "t", Name: "x"}
	a := First(task, at(0))
	for i := range 20 {
		as := assignment(1)
		as.Containers[0].Agent = rm.AgentID(fmt.Sprintf("a%d", i%18))
		placed, err := a.Assign(as)
		if err != nil {
			t.Fatal(err)
		}
		done, err := ended(placed, 0, noRoom()).Finish(rm.End{Cause: rm.CauseNotHere, At: at(6)}, false)
		if err != nil {
			t.Fatal(err)
		}
		a = done.Next(task, at(6))
	}
	got := task.Request(a).Avoid
	if len(got) != mostAvoided || got[len(got)-1] != "a1" || got[0] != "a4" {
		t.Errorf("got %q, want the last 16, each once", got)
	}
}

func TestRequeueDelayGrowsAndIsLogged(t *testing.T) {
	t.Parallel()
	task := Task{ID: "t", Name: "x"}
	a := First(task, at(0))
	var waits []time.Duration
	for range 12 {
		done, err := a.Finish(rm.End{Cause: rm.CauseNotHere, Reason: "agent b: full", At: at(10)}, false)
		if err != nil {
			t.Fatal(err)
		}
		a = done.Next(task, at(10))
		waits = append(waits, a.NotBefore.Sub(at(10)))
	}
	if waits[0] != time.Second || waits[1] != 2*time.Second || waits[11] != maxDelay {
		t.Errorf("got %v, want one second, two … one minute", waits)
	}
	const want = "it could not be started 12 times in a row because machines lacked something, most recently: agent b: full"
	q := task.Request(a)
	if q.Delayed != want || !q.NotBefore.Equal(a.NotBefore) {
		t.Errorf("got %q until %s, want %q", q.Delayed, q.NotBefore, want)
	}
	if last := a.Lines[len(a.Lines)-1].Text; !strings.Contains(last, "is queued again") || !strings.Contains(last, want) {
		t.Errorf("got %q in its log", last)
	}
	// It was placed, and lost for another reason, which causes no delay.
	done, err := a.Finish(rm.End{Cause: rm.CauseAgentLost, At: at(20)}, true)
	if err != nil {
		t.Fatal(err)
	}
	if n := done.Next(task, at(20)); len(n.Avoid) != 0 || n.NotHere != 0 || !n.NotBefore.IsZero() || n.Delayed != "" {
		t.Errorf("got %+v, want the count to restart", n)
	}
}
