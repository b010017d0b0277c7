package installer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
)

// nodes is a fake of the master API that Pause uses.
type nodes struct {
	state map[string]string
	jobs  []*apiv1.Job
	pods  int
	// preempted lists the allocations that were asked to stop; deaf makes them ignore that.
	preempted []string
	deaf      bool
	// lost makes every change to that state fail.
	lost string
}

func (n *nodes) Agents(context.Context) ([]*apiv1.Agent, error) {
	var out []*apiv1.Agent
	for _, id := range []string{"a", "b", "c"} {
		out = append(out, &apiv1.Agent{Id: id, Enabled: n.state[id] == "on"})
	}
	return out, nil
}

func (n *nodes) Jobs(context.Context, string) ([]*apiv1.Job, error) { return n.jobs, nil }

func (n *nodes) turn(id, to string) (*apiv1.Agent, error) {
	if n.lost == to {
		return nil, errors.New("the line is cut")
	}
	if _, found := n.state[id]; !found {
		return nil, &client.Error{Kind: client.NotFound}
	}
	n.state[id] = to
	return &apiv1.Agent{Id: id}, nil
}

func (n *nodes) EnableAgent(_ context.Context, id string) (*apiv1.Agent, error) {
	return n.turn(id, "on")
}

func (n *nodes) DisableAgent(_ context.Context, id string, drain bool) (*apiv1.Agent, error) {
	if drain {
		return n.turn(id, "draining")
	}
	n.pods = 0
	return n.turn(id, "off")
}

func (n *nodes) Tasks(context.Context) (map[string]*apiv1.AllocationSummary, error) {
	runs := &apiv1.AllocationSummary{Resources: []*apiv1.ResourcesSummary{{}}}
	return map[string]*apiv1.AllocationSummary{"waits.1": {}, "gone.1": runs, "train.1": runs}, nil
}

func (n *nodes) Preempt(_ context.Context, id string) error {
	if id == "gone.1" {
		return &client.Error{Kind: client.NotFound}
	}
	n.preempted = append(n.preempted, id)
	if !n.deaf {
		n.pods = 0
	}
	return nil
}

func (n *nodes) pause(t *testing.T, store *recordtest.Memory) Pause {
	t.Helper()
	return Pause{
		Master: n, Store: store, Notef: t.Logf, Limit: 10 * time.Millisecond, Every: time.Millisecond,
		Left: func(context.Context) (int, error) { return n.pods, nil },
	}
}

func job(name string, preemptible bool, state apiv1.Job_State) *apiv1.Job {
	return &apiv1.Job{EntityId: name, IsPreemptible: preemptible, Summary: &apiv1.JobSummary{State: state}}
}

func TestEndEnablesOnlyRecordedNodes(t *testing.T) {
	t.Parallel()
	n := &nodes{
		state: map[string]string{"a": "on", "b": "on", "c": "off"}, pods: 3,
		jobs: []*apiv1.Job{job("train", true, apiv1.Job_STATE_SCHEDULED), job("waits", false, apiv1.Job_STATE_QUEUED)},
	}
	store := &recordtest.Memory{}
	p := n.pause(t, store)
	if err := p.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(n.state, map[string]string{"a": "draining", "b": "draining", "c": "off"}); d != "" || n.pods != 0 || !slices.Equal(n.preempted, []string{"train.1"}) {
		t.Errorf("paused: got %d pods, preempted %v, want none and train.1, and -, want +:\n%s", n.pods, n.preempted, d)
	}
	delete(n.state, "b") // a node may disappear meanwhile
	if err := p.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(n.state, map[string]string{"a": "on", "c": "off"}); d != "" {
		t.Errorf("resumed: got -, want +:\n%s", d)
	}
	n.state["a"] = "off" // disabled by another user later
	if err := p.End(t.Context()); err != nil || n.state["a"] != "off" {
		t.Errorf("resumed again: got %s and %v, want nothing done", n.state["a"], err)
	}
}

func TestTasksThatDoNotStopAreKilled(t *testing.T) {
	t.Parallel()
	n := &nodes{state: map[string]string{"a": "on"}, pods: 2, deaf: true}
	if err := n.pause(t, &recordtest.Memory{}).Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n.pods != 0 || n.state["a"] != "off" || len(n.preempted) != 1 {
		t.Errorf("got %d pods, node %s and %v preempted, want none, off and one", n.pods, n.state["a"], n.preempted)
	}
}

func TestBeginFailsForTasksThatAreNotPreemptible(t *testing.T) {
	t.Parallel()
	n := &nodes{state: map[string]string{"a": "on"}, pods: 1, jobs: []*apiv1.Job{job("notebook", false, apiv1.Job_STATE_SCHEDULED)}}
	p := n.pause(t, &recordtest.Memory{})
	err := p.Begin(t.Context())
	if err == nil || !strings.Contains(err.Error(), "notebook") || n.pods != 1 || n.state["a"] != "draining" {
		t.Errorf("got %v with node %s and %d pods", err, n.state["a"], n.pods)
	}
	if err := p.End(t.Context()); err != nil || n.state["a"] != "on" {
		t.Errorf("got node %s and %v, want it on", n.state["a"], err)
	}
}

func TestInterruptedPauseIsUndoneByTheNextRun(t *testing.T) {
	t.Parallel()
	n := &nodes{state: map[string]string{"a": "on", "b": "on"}, lost: "on"}
	store := &recordtest.Memory{}
	if err := n.pause(t, store).Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var kept *KeptError
	if err := n.pause(t, store).End(ctx); !errors.As(err, &kept) || !strings.Contains(kept.Hint(), "agent enable a b") {
		t.Errorf("a master that does not answer: got %v", err)
	}
	n.lost = ""
	p := n.pause(t, store)
	if err := p.Begin(t.Context()); err != nil { // finds them disabled
		t.Fatal(err)
	}
	if err := p.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(n.state, map[string]string{"a": "on", "b": "on"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}
