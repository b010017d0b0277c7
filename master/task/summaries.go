package task

import (
	"bytes"
	"encoding/json"
	"iter"
	"sync/atomic"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// Summary appends an encoded allocation to b. The message is reused for the next one.
type Summary func(b []byte, s *apiv1.AllocationSummary) ([]byte, error)

// Summaries returns the encoded form of every allocation that has not ended, in no particular order.
// Write must be the same function in each call. There may be 40,000 allocations: those unchanged since
// the last call are not encoded again.
func (v *views) Summaries(write Summary) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		w := summaryWriter{views: v, write: write}
		if w.manager = v.reg.managerOf(); w.manager != nil {
			w.changes = w.manager.PriorityChanges() // before any priority is read
		}
		for _, e := range v.reg.listAll() {
			text, found, err := w.summarize(e)
			if found && !yield(text, err) || err != nil {
				return
			}
		}
	}
}

// summaryText is the encoded summary of an open snapshot.
type summaryText struct {
	of *snapshot
	// text is nil as long as only the priority is known.
	text     []byte
	priority int32
	// changes is the resource manager's count of changes when priority was last compared.
	changes atomic.Uint64
}

// summaryWriter writes the summaries of one call.
type summaryWriter struct {
	*views

	write   Summary
	manager rm.ResourceManager
	changes uint64
	message summaryMessage
	scratch []byte
	// portless is the last configuration that was found to have no ports: many tasks share one.
	portless json.RawMessage
}

// summaryMessage has room for the parts that the message points to.
type summaryMessage struct {
	apiv1.AllocationSummary

	registered timestamppb.Timestamp
	priority   int32
}

// summarize returns the text of an entry, from the cache if it is current, without reading the snapshot.
func (w *summaryWriter) summarize(e *entry) (text []byte, found bool, err error) {
	kept, s := e.summary.Load(), e.cur.Load()
	same := kept != nil && kept.of == s
	current := same && kept.changes.Load() == w.changes
	if current && kept.text != nil {
		return kept.text, true, nil
	}
	if s == nil || !isOpen(s) && !s.rests() {
		return nil, false, nil
	}
	priority, queued := w.priorityOf(s, kept, current)
	if !same || kept.text == nil || kept.priority != priority {
		if w.scratch, err = w.write(w.scratch[:0], w.describe(s, priority)); err != nil {
			return nil, true, err
		}
		kept = &summaryText{of: s, text: bytes.Clone(w.scratch), priority: priority}
	}
	if queued {
		kept.changes.Store(w.changes)
		e.summary.Store(kept)
	}
	return kept.text, true, nil
}

// notePriority caches the priority of a task that was just submitted, at the given count of changes, so
// that the first list need not look it up in scattered memory.
func (e *entry) notePriority(r rm.ResourceManager, changes uint64) {
	s := e.cur.Load()
	if !isOpen(s) {
		return
	}
	if n, found := r.Priority(s.allocations[len(s.allocations)-1].ID); found {
		kept := &summaryText{of: s, priority: int32(n)} //nolint:gosec // 1 to 99
		kept.changes.Store(changes)
		e.summary.Store(kept)
	}
}

// priorityOf returns the priority to show, from the cache if it is current. It reports whether the
// resource manager has the allocation, so that only a change of a job alters the priority.
func (w *summaryWriter) priorityOf(s *snapshot, kept *summaryText, current bool) (priority int32, queued bool) {
	if current {
		return kept.priority, true
	}
	if w.manager != nil {
		if n, found := w.manager.Priority(s.allocations[len(s.allocations)-1].ID); found {
			return int32(n), true //nolint:gosec // 1 to 99
		}
	}
	return int32(w.effectivePriority(s)), false //nolint:gosec // 1 to 99
}

func (w *summaryWriter) describe(s *snapshot, priority int32) *apiv1.AllocationSummary {
	a, m := &s.allocations[len(s.allocations)-1], &w.message.AllocationSummary
	w.message.registered.Seconds, w.message.registered.Nanos = a.Created.Unix(), int32(a.Created.Nanosecond()) //nolint:gosec // below 1e9
	m.TaskId, m.AllocationId, m.Name, m.RegisteredTime = string(s.task.ID), string(a.ID), s.task.Name, &w.message.registered
	m.ResourcePool, m.SlotsNeeded, m.SchedulerType = s.task.Pool, int32(s.task.Slots), "priority" //nolint:gosec // slots of one pool
	m.ProxyPorts, m.Resources, m.Priority = w.proxyPorts(&s.task), showResources(*a), nil
	if w.message.priority = priority; priority != 0 {
		m.Priority = &w.message.priority
	}
	if s.rests() {
		m.Resources = nil // it has ended
	}
	return m
}

// proxyPorts returns the proxy ports of a task. It decodes a configuration only if it may have some.
func (w *summaryWriter) proxyPorts(task *lifecycle.Task) []*apiv1.ProxyPortConfig {
	if kindOf(task.Kind).owned || len(task.Config) == 0 || sameBytes(task.Config, w.portless) {
		return nil
	}
	if !bytes.Contains(task.Config, []byte(`"proxy_ports"`)) {
		w.portless = task.Config
		return nil
	}
	cfg, err := spec.Load(task.Config)
	if err != nil {
		return nil // it was valid when it was accepted
	}
	var out []*apiv1.ProxyPortConfig
	for _, p := range kindOf(task.Kind).proxyPorts(cfg) {
		out = append(out, &apiv1.ProxyPortConfig{
			ServiceId: string(task.ID), Port: int32(p.Port), ProxyTcp: p.TCP, Unauthenticated: p.Unauthenticated, //nolint:gosec // a port
		})
	}
	return out
}

// sameBytes reports whether both are the same non-empty memory.
func sameBytes(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }
