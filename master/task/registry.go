package task

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// registry is the tasks in memory: those that have not ended, and those that ended last.
type registry struct {
	mu      sync.RWMutex // guards what follows; held for moments only
	entries map[rm.TaskID]*entry
	// row is the same entries about in the order in which they came, which is that of the memory: a walk
	// over all waits for the memory much less than one in the map's order.
	row    []*entry
	rm     rm.ResourceManager // nil until attached
	owners map[lifecycle.Kind]Owner
	jobs   map[rm.JobID]map[rm.TaskID]*entry // those of owners

	usage   *usage
	leaving leaving
}

func newRegistry() *registry {
	return &registry{
		entries: map[rm.TaskID]*entry{}, owners: map[lifecycle.Kind]Owner{}, jobs: map[rm.JobID]map[rm.TaskID]*entry{}, usage: newUsage(),
	}
}

// expect has room for n tasks.
func (r *registry) expect(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) == 0 {
		r.entries, r.row = make(map[rm.TaskID]*entry, n), make([]*entry, 0, n)
	}
}

// entry is one task. Each change holds its mutex change from the look at what there is
// until memory agrees with the store; readers take the last snapshot and never wait.
type entry struct {
	change sync.Mutex // guards gone, stale, said and dated, and orders the writes of this task
	gone   bool       // was never stored, or is no longer in memory
	stale  bool       // the store may know more than memory
	said   int64      // lines of the master that are known to be in the log
	dated  bool       // the store has the time of its end; not changed once it is leaving
	place  int        // in the registry's row, whose mutex guards it

	cur atomic.Pointer[snapshot] // nil until stored
	// attached is the snapshot that Attach has handed over; only Attach looks at it.
	attached *snapshot
	news     atomic.Pointer[chan struct{}]
	usage    *usage // of all users
	watch    logWatch
	// summary is what was last shown of it in the list of all; nil for none.
	summary atomic.Pointer[summaryText]
	ended   chan struct{} // closed when the task has ended and its last line is in the log
}

func newEntry(u *usage) *entry {
	e := &entry{usage: u, ended: make(chan struct{})}
	news := make(chan struct{})
	e.news.Store(&news)
	return e
}

// isGone says that the entry is of no task, once the caller that changes it is done.
func (e *entry) isGone() bool {
	e.change.Lock()
	defer e.change.Unlock()
	return e.gone
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

// isOpen says that an allocation is queued or runs.
func (s snapshot) isOpen() bool { return isOpen(&s) }

// isOpen is for loops over all: a snapshot is large.
func isOpen(s *snapshot) bool {
	return s.task.Ended.IsZero() && s.allocations[len(s.allocations)-1].State != lifecycle.Terminated
}

// waitsForOwner says that a run has ended and the owner has not said what follows.
func (s *snapshot) waitsForOwner() bool {
	return s.task.Ended.IsZero() && !s.task.Held && s.allocations[len(s.allocations)-1].Over()
}

// isHeld reports whether the owner keeps the task for a later run.
func (s *snapshot) isHeld() bool { return s.task.Ended.IsZero() && s.task.Held }

func (s snapshot) allocationByID(id rm.AllocationID) (lifecycle.Allocation, bool) {
	if a := s.findAllocation(id); a != nil {
		return *a, true
	}
	return lifecycle.Allocation{}, false
}

// findAllocation is nil for none.
func (s *snapshot) findAllocation(id rm.AllocationID) *lifecycle.Allocation {
	for i := range s.allocations {
		if s.allocations[i].ID == id {
			return &s.allocations[i]
		}
	}
	return nil
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
func (e *entry) publishSnapshot(s snapshot) { e.publish(&s) }

// publish is publishSnapshot of what is not changed from now on.
func (e *entry) publish(s *snapshot) {
	e.usage.noteChange(e.cur.Swap(s), s)
	e.summary.Store(nil)
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

// findAllocation finds the task in memory that has the allocation.
func (r *registry) findAllocation(id rm.AllocationID) (*entry, bool) {
	e, found := r.findTask(taskOf(id))
	if !found {
		return nil, false
	}
	_, found = e.latestSnapshot().allocationByID(id)
	return e, found
}

// makeTask reserves an id and has its task made, while callers who want the same id wait. fresh is
// false, and nothing is made, where the id has an entry already. The id is free again after an
// error, or if there is to be no task.
func (r *registry) makeTask(id rm.TaskID, make func(*entry) (made bool, err error)) (e *entry, fresh bool, err error) {
	e, fresh = r.reserveID(id)
	if !fresh {
		return e, false, nil
	}
	defer e.change.Unlock()
	made, err := make(e)
	if err != nil || !made {
		r.abandonTask(id, e)
	}
	return e, true, err
}

// abandonTask gives up a reserved id. The caller holds e.change.
func (r *registry) abandonTask(id rm.TaskID, e *entry) {
	e.gone = true
	r.dropTask(id)
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
	r.addEntry(id, e)
	return e, true
}

func (r *registry) putTask(id rm.TaskID, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addEntry(id, e)
}

// addEntry is called with mu held, for an id that has none.
func (r *registry) addEntry(id rm.TaskID, e *entry) {
	e.place = len(r.row)
	r.entries[id], r.row = e, append(r.row, e)
}

func (r *registry) dropTask(id rm.TaskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, found := r.entries[id]
	if !found {
		return
	}
	delete(r.entries, id)
	last := len(r.row) - 1
	r.row[e.place], r.row[last].place = r.row[last], e.place
	r.row[last] = nil
	r.row = r.row[:last]
}

// listTasks lists the tasks, oldest first.
func (r *registry) listTasks() []*entry {
	return r.listWhere(func(*snapshot) bool { return true })
}

// listWhere lists the tasks that a condition leaves in, oldest first.
func (r *registry) listWhere(in func(*snapshot) bool) []*entry {
	return oldestFirst(r.collectWhere(in))
}

// oldestFirst sorts entries. It looks at each task once: they are all over the memory.
func oldestFirst(list []*entry) []*entry {
	type key struct {
		submitted time.Time
		id        rm.TaskID
		entry     *entry
	}
	keys := make([]key, len(list))
	for i, e := range list {
		t := &e.cur.Load().task
		keys[i] = key{t.Submitted, t.ID, e}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(a.submitted.Compare(b.submitted), cmp.Compare(a.id, b.id)) })
	for i, k := range keys {
		list[i] = k.entry
	}
	return list
}

// listChanged lists the open tasks that Attach has not handed over as they are, oldest first. It is
// called once: what was handed over is forgotten.
func (r *registry) listChanged() []*entry {
	return oldestFirst(slices.DeleteFunc(r.listAll(), func(e *entry) bool {
		s, attached := e.cur.Load(), e.attached
		e.attached = nil // it would be kept for as long as the task
		return s == nil || s == attached || !isOpen(s)
	}))
}

// collectWhere is listWhere in no order.
func (r *registry) collectWhere(in func(*snapshot) bool) []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []*entry
	for _, e := range r.row {
		if s := e.cur.Load(); s != nil && in(s) {
			out = append(out, e)
		}
	}
	return out
}

// listAll lists the tasks in no order, also those that are not stored yet.
func (r *registry) listAll() []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.row)
}

func (r *registry) setOwner(k lifecycle.Kind, o Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owners[k] = o
}

func (r *registry) ownerOf(k lifecycle.Kind) (Owner, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	o, found := r.owners[k]
	return o, found
}

// joinJob makes a task of an owner found by its job.
func (r *registry) joinJob(t lifecycle.Task, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs[t.Job] == nil {
		r.jobs[t.Job] = map[rm.TaskID]*entry{}
	}
	r.jobs[t.Job][t.ID] = e
}

// leaveJob undoes joinJob.
func (r *registry) leaveJob(t lifecycle.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jobs[t.Job], t.ID)
	if len(r.jobs[t.Job]) == 0 {
		delete(r.jobs, t.Job)
	}
}

// listJob lists the owned tasks of a job.
func (r *registry) listJob(id rm.JobID) []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.jobs[id]))
}
