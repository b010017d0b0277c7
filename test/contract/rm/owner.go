package rmtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

var (
	_ rm.Tasks = (*Owner)(nil)
	_ rm.Logs  = (*Owner)(nil)
)

// Told is what an Owner has recorded about an allocation.
type Told struct {
	Request    rm.Request
	Containers []rm.Container
	// States are those of each container, in the order of the calls.
	States map[rm.ContainerID][]apiv1.Container_State
	Exits  map[rm.ContainerID]*agentv1.Exit
	Agents map[rm.ContainerID]rm.AgentID
	// Reason and Deadline are those of its preemption; Deadline is zero without one.
	Reason   string
	Deadline time.Time
	Waits    []rm.Wait
	End      *rm.End
	// closed marks an allocation whose end was reported before the last restart. If the manager was
	// stopped before it stored the end, it reports the end once more.
	closed bool
}

// Running returns the number of running containers.
func (w Told) Running() int { return w.in(apiv1.Container_STATE_RUNNING) }

// Terminated returns the number of terminated containers.
func (w Told) Terminated() int { return w.in(apiv1.Container_STATE_TERMINATED) }

func (w Told) in(state apiv1.Container_State) int {
	n := 0
	for _, states := range w.States {
		if states[len(states)-1] == state {
			n++
		}
	}
	return n
}

// Owner stands in for the owner of the tasks. It fails the test on an impossible call: a state that
// goes backwards, a second end, a container that was not assigned. After a restart every call may
// be repeated once.
type Owner struct {
	t testing.TB

	// mu guards the fields below.
	mu    sync.Mutex
	tasks map[rm.AllocationID]*Told
	// listens are the allocations whose programs poll for the preemption signal.
	listens map[rm.AllocationID]bool
	// fail is called before each call is accepted, which its error rejects; nil accepts all.
	fail func(call string, id rm.AllocationID) error
	// said are the accepted calls since the last start.
	said map[string]bool
	// next is the number of the first log line that is not stored, for each container.
	next map[string]uint64
}

func newOwner(t testing.TB) *Owner {
	return &Owner{
		t: t, tasks: make(map[rm.AllocationID]*Told), listens: make(map[rm.AllocationID]bool),
		said: make(map[string]bool), next: make(map[string]uint64),
	}
}

// add registers an allocation before it is submitted.
func (o *Owner) add(r rm.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tasks[r.Allocation] == nil {
		o.tasks[r.Allocation] = &Told{
			Request: r, States: make(map[rm.ContainerID][]apiv1.Container_State),
			Exits: make(map[rm.ContainerID]*agentv1.Exit), Agents: make(map[rm.ContainerID]rm.AgentID),
		}
	}
}

// told returns a copy of the record of an allocation.
func (o *Owner) told(id rm.AllocationID) Told {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := *o.tasks[id]
	w.Containers, w.Waits = slices.Clone(w.Containers), slices.Clone(w.Waits)
	w.States, w.Exits, w.Agents = make(map[rm.ContainerID][]apiv1.Container_State), make(map[rm.ContainerID]*agentv1.Exit), make(map[rm.ContainerID]rm.AgentID)
	for c, states := range o.tasks[id].States {
		w.States[c] = slices.Clone(states)
		w.Exits[c], w.Agents[c] = o.tasks[id].Exits[c], o.tasks[id].Agents[c]
	}
	return w
}

// open returns the requests that have not ended, for submission by a restarted master.
func (o *Owner) open() []rm.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []rm.Request
	for _, w := range o.tasks {
		if w.End == nil {
			out = append(out, w.Request)
		}
	}
	return out
}

// restarted allows every call to be repeated once.
func (o *Owner) restarted() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.said)
	for _, w := range o.tasks {
		w.closed = w.End != nil
	}
}

// failWith sets a function whose errors reject calls.
func (o *Owner) failWith(fail func(call string, id rm.AllocationID) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail = fail
}

// accept returns the record of an allocation, or an error if the call is rejected. The caller holds
// mu.
func (o *Owner) accept(call string, id rm.AllocationID) (*Told, error) {
	w := o.tasks[id]
	if w == nil {
		o.t.Errorf("%s of allocation %s, which was not submitted", call, id)
		return nil, errors.New("there is no such allocation")
	}
	if o.fail != nil {
		if err := o.fail(call, id); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// once fails the test if the same call was accepted before. The caller holds mu.
func (o *Owner) once(format string, args ...any) {
	call := fmt.Sprintf(format, args...)
	if o.said[call] {
		o.t.Errorf("told twice: %s", call)
	}
	o.said[call] = true
}

// Assigned implements rm.Tasks.
func (o *Owner) Assigned(_ context.Context, a rm.Assignment) ([]*agentv1.Spec, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, err := o.accept("assigned", a.Allocation)
	if err != nil {
		return nil, err
	}
	if w.closed {
		o.once("allocation %s is assigned after its end", a.Allocation)
		return nil, errors.New("it has ended")
	}
	if w.End != nil {
		o.t.Errorf("allocation %s is assigned after its end", a.Allocation)
	}
	for i, c := range w.Containers {
		if i >= len(a.Containers) || c.ID != a.Containers[i].ID {
			o.t.Errorf("allocation %s was assigned %v and is assigned %v", a.Allocation, w.Containers, a.Containers)
			break
		}
	}
	w.Containers = slices.Clone(a.Containers)
	specs := make([]*agentv1.Spec, 0, len(a.Containers))
	for i, c := range a.Containers {
		if c.Rank != i {
			o.t.Errorf("container %d of allocation %s has rank %d", i, a.Allocation, c.Rank)
		}
		specs = append(specs, &agentv1.Spec{Image: "example/task:1", Entrypoint: []string{"/task"}, TaskType: "COMMAND"})
	}
	return specs, nil
}

// Changed implements rm.Tasks.
func (o *Owner) Changed(_ context.Context, c rm.ContainerChange) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, err := o.accept("changed", c.Allocation)
	if err != nil {
		return err
	}
	o.once("container %s of allocation %s is %s", c.Container, c.Allocation, c.State)
	if w.End != nil && !w.closed {
		o.t.Errorf("allocation %s has ended, and its container %s is %s", c.Allocation, c.Container, c.State)
	}
	if !slices.ContainsFunc(w.Containers, func(x rm.Container) bool { return x.ID == c.Container && x.Rank == c.Rank }) {
		o.t.Errorf("container %s of rank %d was not assigned to allocation %s: %v", c.Container, c.Rank, c.Allocation, w.Containers)
	}
	if c.State == apiv1.Container_STATE_RUNNING && (c.Agent == "" || c.Host == "") {
		o.t.Errorf("container %s of allocation %s runs on agent %q at %q, which does not say where", c.Container, c.Allocation, c.Agent, c.Host)
	}
	if (c.Exit != nil) != (c.State == apiv1.Container_STATE_TERMINATED) {
		o.t.Errorf("container %s of allocation %s is %s with exit %v", c.Container, c.Allocation, c.State, c.Exit)
	}
	w.change(o.t, c)
	return nil
}

// change appends a state. A state that is repeated after a restart is ignored.
func (w *Told) change(t testing.TB, c rm.ContainerChange) {
	seen := w.States[c.Container]
	if slices.Contains(seen, c.State) {
		return
	}
	if n := len(seen); n > 0 && c.State < seen[n-1] {
		t.Errorf("container %s of allocation %s is %s after %s", c.Container, c.Allocation, c.State, seen[n-1])
	}
	w.States[c.Container] = append(seen, c.State)
	w.Exits[c.Container], w.Agents[c.Container] = c.Exit, c.Agent
}

// Preempted implements rm.Tasks.
func (o *Owner) Preempted(_ context.Context, id rm.AllocationID, reason string, deadline time.Time) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, err := o.accept("preempted", id)
	if err != nil {
		return false, err
	}
	o.once("allocation %s is preempted", id)
	w.Reason, w.Deadline = reason, deadline
	return o.listens[id], nil
}

// Waits implements rm.Tasks.
func (o *Owner) Waits(_ context.Context, id rm.AllocationID, why rm.Wait) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, err := o.accept("waits", id)
	if err != nil {
		return err
	}
	w.Waits = append(w.Waits, why)
	return nil
}

// Ended implements rm.Tasks.
func (o *Owner) Ended(_ context.Context, id rm.AllocationID, e rm.End) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, err := o.accept("ended", id)
	if err != nil {
		return err
	}
	o.once("allocation %s has ended", id)
	if w.closed {
		return nil // the cause was reported before the restart
	}
	if w.End != nil && w.End.Cause != e.Cause {
		o.t.Errorf("allocation %s ended by %s, and now by %s", id, w.End.Cause, e.Cause)
	}
	if n := w.Running(); n > 0 {
		o.t.Errorf("allocation %s has ended while %d of its containers run", id, n)
	}
	w.End = &e
	return nil
}

// AppendLogs implements rm.Logs.
func (o *Owner) AppendLogs(_ context.Context, _ rm.AgentID, l *agentv1.Logs) (uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := l.GetContainerId()
	if l.GetFirstSeq() <= o.next[id] {
		o.next[id] = max(o.next[id], l.GetFirstSeq()+uint64(len(l.GetLines())))
	}
	return o.next[id], nil
}

// NextSeq implements rm.Logs.
func (o *Owner) NextSeq(_ context.Context, _ rm.AllocationID, id rm.ContainerID) (uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.next[string(id)], nil
}
