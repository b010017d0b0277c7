package task

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// registry is the tasks in memory.
type registry struct {
	mu      sync.RWMutex // guards what follows; held for moments only
	entries map[rm.TaskID]*entry
	rm      rm.ResourceManager // nil until attached

	usage *usage
}

func newRegistry() *registry { return &registry{entries: map[rm.TaskID]*entry{}, usage: newUsage()} }

// entry is one task. Each change holds its mutex change from the look at what there is
// until memory agrees with the store; readers take the last snapshot and never wait.
type entry struct {
	change sync.Mutex // guards gone, stale and said, and orders the writes of this task
	gone   bool       // was never stored, or is no longer kept
	stale  bool       // the store may know more than memory
	said   int64      // lines of the master that are in the log

	cur   atomic.Pointer[snapshot] // nil until stored
	news  atomic.Pointer[chan struct{}]
	usage *usage        // of all users
	ended chan struct{} // closed when the task has ended and its last line is in the log
}

func newEntry(u *usage) *entry {
	e := &entry{usage: u, ended: make(chan struct{})}
	news := make(chan struct{})
	e.news.Store(&news)
	return e
}

// snapshot is a task at one moment. It is not changed once it is published.
type snapshot struct {
	task        lifecycle.Task
	allocations []lifecycle.Allocation
}

func (s snapshot) currentAllocation() lifecycle.Allocation {
	return s.allocations[len(s.allocations)-1]
}

func (s snapshot) hasEnded() bool { return !s.task.Ended.IsZero() }

func (s snapshot) allocationByID(id rm.AllocationID) (lifecycle.Allocation, bool) {
	i := slices.IndexFunc(s.allocations, func(a lifecycle.Allocation) bool { return a.ID == id })
	if i < 0 {
		return lifecycle.Allocation{}, false
	}
	return s.allocations[i], true
}

// withAllocation replaces or adds an allocation.
func (s snapshot) withAllocation(a lifecycle.Allocation) snapshot {
	s.allocations = slices.Clone(s.allocations)
	if i := slices.IndexFunc(s.allocations, func(o lifecycle.Allocation) bool { return o.ID == a.ID }); i >= 0 {
		s.allocations[i] = a
	} else {
		s.allocations = append(s.allocations, a)
	}
	return s
}

func (e *entry) latestSnapshot() snapshot { return *e.cur.Load() }

// publishSnapshot shows a snapshot and wakes its watchers.
func (e *entry) publishSnapshot(s snapshot) {
	e.usage.noteChange(e.cur.Swap(&s), s)
	news := make(chan struct{})
	close(*e.news.Swap(&news))
}

// watchChanges returns what is and a channel that is closed by the next change.
func (e *entry) watchChanges() (snapshot, <-chan struct{}) {
	news := *e.news.Load() // before the snapshot, so that no change falls between
	return e.latestSnapshot(), news
}

func (r *registry) attachManager(m rm.ResourceManager) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rm = m
}

func (r *registry) managerOf() rm.ResourceManager {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.rm
}

// findTask is a task that has been stored.
func (r *registry) findTask(id rm.TaskID) (*entry, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, found := r.entries[id]
	if !found || e.cur.Load() == nil {
		return nil, false
	}
	return e, true
}

// taskOf is the task an allocation belongs to: "<task>.<n>".
func taskOf(id rm.AllocationID) rm.TaskID {
	if i := strings.LastIndexByte(string(id), '.'); i >= 0 {
		return rm.TaskID(id[:i])
	}
	return rm.TaskID(id)
}

func (r *registry) findAllocation(id rm.AllocationID) (*entry, lifecycle.Allocation, bool) {
	e, found := r.findTask(taskOf(id))
	if !found {
		return nil, lifecycle.Allocation{}, false
	}
	a, found := e.latestSnapshot().allocationByID(id)
	return e, a, found
}

// reserveID returns the entry of id, made when there is none; fresh says so, and then
// it is locked for its maker.
func (r *registry) reserveID(id rm.TaskID) (e *entry, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, found := r.entries[id]; found {
		return e, false
	}
	e = newEntry(r.usage)
	e.change.Lock()
	r.entries[id] = e
	return e, true
}

func (r *registry) putTask(id rm.TaskID, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[id] = e
}

func (r *registry) dropTask(id rm.TaskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, id)
}

// listTasks lists the stored tasks, oldest first.
func (r *registry) listTasks() []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]*entry, 0, len(r.entries))
	for _, e := range r.entries {
		if e.cur.Load() != nil {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *entry) int {
		x, y := a.latestSnapshot().task, b.latestSnapshot().task
		return cmp.Or(x.Submitted.Compare(y.Submitted), strings.Compare(string(x.ID), string(y.ID)))
	})
	return out
}
