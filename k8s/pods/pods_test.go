package pods_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/rest"
)

// checkLines compares the stored lines with the printed ones.
func (m *master) checkLines(id rm.AllocationID, n int) {
	m.t.Helper()
	m.owner.mu.Lock()
	defer m.owner.mu.Unlock()
	for _, c := range m.owner.tasks[id].assigned {
		got := m.owner.lines[string(c.ID)]
		if len(got) != n {
			m.t.Errorf("container %s of %s: got %d lines, want %d: %q", c.ID, id, len(got), n, got)
			continue
		}
		var pod string
		for i, text := range got {
			var at int
			if _, err := fmt.Sscanf(text, "line %d of %s", &at, &pod); err != nil || at != i {
				m.t.Errorf("container %s of %s: line %d is %q", c.ID, id, i, text)
			}
		}
	}
}

func TestATaskRunsToItsEnd(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(1)
	id := m.submit(program{Lines: 40, Every: 10 * time.Millisecond, Exit: 3}, slots(2))
	w := m.await(id, "it has ended", over)
	for c, states := range w.states {
		want := []apiv1.Container_State{apiv1.Container_STATE_PULLING, apiv1.Container_STATE_RUNNING, apiv1.Container_STATE_TERMINATED}
		if states[0] == apiv1.Container_STATE_RUNNING {
			want = want[1:] // the node was faster than the report
		}
		if d := cmp.Diff(states, want); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
		if got := w.exits[c].GetCode(); got != 3 {
			t.Errorf("got code %d, want 3", got)
		}
		if got, want := w.nodes[c], rm.AgentID(m.node(1)); got != want {
			t.Errorf("got node %q, want %s", got, want)
		}
	}
	if w.end.Cause != rm.CauseExited {
		t.Errorf("got cause %s, want %s", w.end.Cause, rm.CauseExited)
	}
	m.checkLines(id, 40)
	m.awaitNothing()
	m.awaitForgotten()
}

func TestGangRunsCompletelyOrNotAtAll(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(3)
	first := m.submit(program{Forever: true}, slots(16))
	m.await(first, "two pods run", runs(2))
	second := m.submit(program{Lines: 1}, slots(16))
	w := m.await(second, "it reports why it waits", func(w owned) bool { return len(w.waits) > 0 })
	t.Log(w.waits)
	if got := m.pods(second); len(got) != 0 {
		t.Errorf("got %d pods of a gang that does not fit, want none", len(got))
	}
	third := m.submit(program{Lines: 1}, slots(8))
	m.await(third, "what fits has passed", over)
	if err := m.rm.Kill(t.Context(), first, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	w = m.await(first, "it was killed", over)
	if w.end.Cause != rm.CauseKilled || w.end.Reason != "killed by ann" {
		t.Errorf("got %+v, want killed by ann", w.end)
	}
	m.await(second, "it has run after that", over)
	m.checkLines(second, 1)
	m.awaitNothing()
}

func TestPartialGangIsUndoneAndRetried(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(3)
	m.c.Kubectl("create", "quota", "few", "-n", m.namespace, "--hard=pods=2")
	id := m.submit(program{Lines: 1}, slots(24))
	w := m.await(id, "the quota is said", func(w owned) bool { return strings.Contains(strings.Join(w.waits, "\n"), "exceeded quota") })
	t.Log(w.waits)
	m.c.Await("the partial gang is gone", func() error {
		if n := len(m.pods(id)); n > 0 {
			return fmt.Errorf("there are %d pods", n)
		}
		return nil
	})
	if len(m.told(id).states) > 0 {
		t.Errorf("got states %v of a gang that was never whole, want none", m.told(id).states)
	}
	m.c.Kubectl("delete", "quota", "few", "-n", m.namespace)
	m.await(id, "it runs without the quota", over)
	m.awaitNothing()
}

// Its nodes take longer than the time limit for a partial gang.
func TestPlacedGangIsNotUndone(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(2)
	id := m.submit(program{Lines: 1, Late: 6 * time.Second}, slots(16))
	w := m.await(id, "it has ended", over)
	if all := strings.Join(w.waits, "\n"); !strings.Contains(all, "nodes: ") || strings.Contains(all, "undone: ") {
		t.Errorf("got\n%s\nwant its nodes mentioned, and no pod undone", all)
	}
	m.checkLines(id, 1)
	m.awaitNothing()
}

func TestGangIsUndoneIfNodeDiesBeforeStart(t *testing.T) {
	m := newMaster(t, nil)
	k := m.newKubelets(1)
	id := m.submit(program{Late: time.Hour}, slots(8))
	m.await(id, "its pod is placed", func(w owned) bool { return strings.Contains(strings.Join(w.waits, "\n"), "nodes: ") })
	k.dies(t, m.node(1))
	w := m.await(id, "it is taken back", func(w owned) bool { return strings.Contains(strings.Join(w.waits, "\n"), "undone: ") })
	if got := strings.Join(w.waits, "\n"); !strings.Contains(got, "agent "+m.node(1)+" has been given pod") {
		t.Errorf("got\n%s\nwant the node's name", got)
	}
	if err := m.rm.Kill(t.Context(), id, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	m.await(id, "it has ended", over)
	m.awaitNothing()
}

func TestKilledBeforeItRuns(t *testing.T) {
	m := newMaster(t, nil)
	id := m.submit(program{Lines: 1}, slots(8)) // no node exists
	m.await(id, "it reports why it waits", func(w owned) bool { return len(w.waits) > 0 })
	if err := m.rm.Kill(t.Context(), id, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	if w := m.await(id, "it has ended", over); w.end.Cause != rm.CauseKilled {
		t.Errorf("got %+v, want killed", w.end)
	}
	m.awaitNothing()
}

func TestContainerThatDoesNotStart(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(1)
	id := m.submit(program{Stuck: "ImagePullBackOff"}, nil)
	w := m.await(id, "it reports what keeps it", func(w owned) bool {
		return strings.Contains(strings.Join(w.waits, "\n"), "does not start: ImagePullBackOff")
	})
	if known, _ := m.rm.Allocation(id); w.end == nil && !strings.Contains(known.Waiting, "ImagePullBackOff: as the test says") {
		t.Errorf("got waiting for %q, want the registry's message", known.Waiting)
	}
	w = m.await(id, "it has ended", over)
	for _, e := range w.exits {
		if e.GetKind() != agentv1.Exit_KIND_NOT_STARTED || !strings.Contains(e.GetMessage(), "ImagePullBackOff: as the test says") {
			t.Errorf("got exit %v, want NOT_STARTED with the registry's message", e)
		}
	}
	m.awaitNothing()
}

func TestPodDeletedByAnotherClient(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(2)
	id := m.submit(program{Forever: true}, slots(16))
	m.await(id, "two pods run", runs(2))
	m.c.Kubectl("delete", "pod", "-n", m.namespace, "--wait=false", m.pods(id)[0].Name)
	w := m.await(id, "all of it has ended", over)
	if w.end.Cause != rm.CauseAgentLost || !strings.Contains(w.end.Reason, "deleted by another client") {
		t.Errorf("got %+v, want the agent lost", w.end)
	}
	m.awaitNothing()
}

func TestAgentsAreEnabledAndDisabled(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(2)
	lasting := m.submit(program{Forever: true}, slots(8))
	node := m.await(lasting, "it runs", runs(1)).nodes[m.told(lasting).assigned[0].ID]
	agents := m.rm.Agents()
	used := 0
	for _, a := range agents {
		for _, s := range a.GetSlots() {
			if s.GetContainer() != nil {
				used++
			}
		}
	}
	if used != 8 {
		t.Errorf("got %d used slots, want 8", used)
	}
	if _, err := m.rm.SetSlot(t.Context(), node, 0, rm.Disable); !errors.Is(err, pods.ErrNoSlotSwitch) {
		t.Errorf("got %v, want %v", err, pods.ErrNoSlotSwitch)
	}
	if _, err := m.rm.SetAgent(t.Context(), "nowhere", rm.Disable); !errors.Is(err, rm.ErrUnknownAgent) {
		t.Errorf("got %v, want %v", err, rm.ErrUnknownAgent)
	}
	a, err := m.rm.SetAgent(t.Context(), node, rm.Drain)
	if err != nil {
		t.Fatal(err)
	}
	if a.GetEnabled() || !a.GetDraining() {
		t.Errorf("got enabled %t, draining %t; want false, true", a.GetEnabled(), a.GetDraining())
	}
	for range 3 {
		id := m.submit(program{Lines: 1}, slots(2))
		w := m.await(id, "it has ended", over)
		if got := w.nodes[w.assigned[0].ID]; got == node {
			t.Errorf("got node %s for a new task, which is drained", got)
		}
	}
	m.stop()
	m.start()
	m.c.Await("the switch is remembered", func() error {
		for _, a := range m.rm.Agents() {
			if a.GetId() == string(node) && !a.GetEnabled() && a.GetDraining() {
				return nil
			}
		}
		return errors.New("it is not")
	})
	if _, err := m.rm.SetAgent(t.Context(), node, rm.Disable); err != nil {
		t.Fatal(err)
	}
	if w := m.await(lasting, "what runs there was ended", over); w.end.Cause != rm.CauseAgentLost {
		t.Errorf("got %+v, want the agent lost", w.end)
	}
	if _, err := m.rm.SetAgent(t.Context(), node, rm.Enable); err != nil {
		t.Fatal(err)
	}
	m.awaitNothing()
}

func TestPreemption(t *testing.T) {
	m := newMaster(t, func(c *pods.Config) { c.Gang.Preemption = true })
	m.newKubelets(1)
	low := m.submit(program{Forever: true}, func(q *rm.Request) { q.Slots, q.Preemptible, q.Priority = 8, true, 40 })
	m.await(low, "it runs", runs(1))
	high := m.submit(program{Lines: 1}, func(q *rm.Request) { q.Slots, q.Priority = 8, 60 })
	w := m.await(low, "it was preempted", over)
	if w.end.Cause != rm.CausePreempted || !strings.Contains(w.warned, taskOf(high)) {
		t.Errorf("got %+v, warned %q; want preempted for %s", w.end, w.warned, high)
	}
	m.await(high, "the other has run", over)
	m.awaitNothing()
}

func TestListeningProgramIsKilledAtDeadline(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(1)
	id := m.submit(program{Forever: true}, func(q *rm.Request) { q.PreemptionTimeout = 3 * time.Second })
	m.await(id, "it runs", runs(1))
	m.owner.mu.Lock()
	m.owner.tasks[id].listens = true
	m.owner.mu.Unlock()
	began := time.Now()
	if err := m.rm.Preempt(t.Context(), id, "because"); err != nil {
		t.Fatal(err)
	}
	m.await(id, "it was warned", func(w owned) bool { return w.warned == "because" })
	m.stop()
	m.start() // the deadline outlives the master
	w := m.await(id, "it was killed", over)
	if took := time.Since(began); w.end.Cause != rm.CausePreempted || took < 3*time.Second {
		t.Errorf("got %+v after %s, want preempted after 3s", w.end, took)
	}
	m.awaitNothing()
}

func TestOrphansAreRemoved(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(1)
	id := m.submit(program{Forever: true}, slots(1))
	m.await(id, "it runs", runs(1))
	m.stop()
	m.c.Kubectl("create", "job", "-n", m.namespace, "--image=x", "mine")
	m.c.Kubectl("create", "job", "-n", m.namespace, "--image=x", "other")
	m.c.Kubectl("label", "job", "-n", m.namespace, "other", "determined=x.1", "det-deploy.dev/cluster=another")
	m.owner.mu.Lock()
	delete(m.owner.tasks, id) // its owner has lost it
	m.owner.mu.Unlock()
	m.start()
	m.c.Await("it is gone", func() error {
		if n := len(m.pods(id)); n > 0 {
			return fmt.Errorf("there are %d pods", n)
		}
		return nil
	})
	m.c.Kubectl("get", "job", "-n", m.namespace, "mine", "other")
}

func TestMissingJobIsLost(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(1)
	id := m.submit(program{Forever: true}, slots(1))
	m.await(id, "it runs", runs(1))
	m.stop()
	m.c.Kubectl("delete", "job", "-n", m.namespace, "-l", "determined="+string(id))
	m.start()
	w := m.await(id, "its loss is told", over)
	if w.end.Cause != rm.CauseAgentLost || len(m.pods(id)) > 0 {
		t.Errorf("got %+v, want the agent lost", w.end)
	}
}

// The resource manager is killed and restarted repeatedly while many tasks run: each task runs
// once, and each line is stored once.
func TestMasterRestartsUnderLoad(t *testing.T) {
	m := newMaster(t, nil)
	m.newKubelets(4)
	ids := make(map[rm.AllocationID]int)
	for i := range rest.Choose(24, 50) {
		lines := 10 + rand.IntN(200)
		id := m.submit(program{Lines: lines, Every: 10 * time.Millisecond, Exit: int32(i % 2)}, slots([]int{0, 1, 4, 16}[i%4]))
		ids[id] = lines
		if i%8 == 7 {
			m.stop()
			m.start()
		}
	}
	restarts := 0
	for left := len(ids); left > 0; {
		left = 0
		for id := range ids {
			if !over(m.told(id)) {
				left++
			}
		}
		// A master on a busy machine needs longer than 2.5 s to do anything: the pauses grow.
		wait := time.NewTimer(time.Duration(200+rand.IntN(2500*(1+restarts/10))) * time.Millisecond)
		select {
		case <-wait.C:
		case <-t.Context().Done():
			t.Fatal("the test was stopped")
		}
		m.stop()
		m.start()
		if restarts++; restarts > 100 {
			t.Fatalf("%d tasks have not ended after %d restarts", left, restarts)
		}
	}
	t.Logf("%d restarts", restarts)
	for id, lines := range ids {
		w := m.told(id)
		if w.end.Cause != rm.CauseExited {
			t.Errorf("%s: got %+v, want exited", id, w.end)
		}
		m.checkLines(id, lines)
	}
	m.awaitNothing()
	m.awaitForgotten()
}
