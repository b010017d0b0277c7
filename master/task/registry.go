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

// registry holds the tasks in memory: those that have not ended, and the most recently ended ones.
type registry struct {
	mu      sync.RWMutex // guards the fields below; held briefly
	entries map[rm.TaskID]*entry
	// row has the same entries roughly in the order of their allocation in memory, so that walking over
	// all of them causes far fewer cache misses than the map's order.
	row    []*entry
	rm     rm.ResourceManager // nil until attached
	owners map[lifecycle.Kind]Owner
	jobs   map[rm.JobID]map[rm.TaskID]*entry // of owners
	// followers are the tasks that wait for the end of a task. Some of them may have ended.
	followers map[rm.TaskID][]*entry
	// serving are the tasks of kinds that serve people.
	serving map[rm.TaskID]*entry

	usage   *usage
	leaving leaving
}

func newRegistry() *registry {
	return &registry{
		entries: map[rm.TaskID]*entry{}, owners: map[lifecycle.Kind]Owner{}, jobs: map[rm.JobID]map[rm.TaskID]*entry{}, usage: newUsage(),
		followers: map[rm.TaskID][]*entry{}, serving: map[rm.TaskID]*entry{},
	}
}

// expect allocates room for n tasks.
func (r *registry) expect(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) == 0 {
		r.entries, r.row = make(map[rm.TaskID]*entry, n), make([]*entry, 0, n)
	}
}

// entry is one task. Each change holds the mutex change from reading the current state until memory and
// the store agree; readers take the latest snapshot and never wait.
type entry struct {
	change sync.Mutex // guards gone, stale, said and dated, and orders the writes of this task
	gone   bool       // was never stored, or is no longer in memory
	stale  bool       // the store may be ahead of memory
	said   int64      // the number of the master's lines known to be in the log
	dated  bool       // the store has the time of its end; constant once it is leaving
	place  int        // in the registry's row, whose mutex guards it

	cur atomic.Pointer[snapshot] // nil until stored
	// attached is the snapshot that Attach has submitted; used by Attach only.
	attached *snapshot
	news     atomic.Pointer[chan struct{}]
	usage    *usage // of all users
	watch    logWatch
	// summary is its last text in the list of summaries; nil for none.
	summary atomic.Pointer[summaryText]
	ended   chan struct{} // closed when the task has ended and its last line is in the log
}

func newEntry(u *usage) *entry {
	e := &entry{usage: u, ended: make(chan struct{})}
	news := make(chan struct{})
	e.news.Store(&news)
	return e
}

// isGone reports whether the entry has no task. It waits for a change in progress.
func (e *entry) isGone() bool {
	e.change.Lock()
	defer e.change.Unlock()
	return e.gone
}

// snapshot is a task at one moment. It is immutable once published.
type snapshot struct {
	task        lifecycle.Task
	allocations []lifecycle.Allocation
}

func (s snapshot) currentAllocation() lifecycle.Allocation {
	return s.allocations[len(s.allocations)-1]
}

func (s snapshot) hasEnded() bool { return !s.task.Ended.IsZero() }

// isOpen reports whether an allocation is queued or running.
func (s snapshot) isOpen() bool { return isOpen(&s) }

// isOpen is for loops over all tasks: a snapshot is large to copy.
func isOpen(s *snapshot) bool {
	return s.task.Ended.IsZero() && s.allocations[len(s.allocations)-1].State != lifecycle.Terminated
}

// waitsForOwner reports whether a run has ended and the owner has not decided how to continue.
func (s *snapshot) waitsForOwner() bool {
	return s.task.Ended.IsZero() && !s.task.Held && !s.task.Paused && s.allocations[len(s.allocations)-1].Over()
}

// isHeld reports whether the owner keeps the task for a later run.
func (s *snapshot) isHeld() bool { return s.task.Ended.IsZero() && s.task.Held }

// rests reports whether the task is paused and nothing of it runs.
func (s *snapshot) rests() bool {
	return s.task.PauseState(&s.allocations[len(s.allocations)-1]) == lifecycle.Resting
}

func (s snapshot) allocationByID(id rm.AllocationID) (lifecycle.Allocation, bool) {
	if a := s.findAllocation(id); a != nil {
		return *a, true
	}
	return lifecycle.Allocation{}, false
}

// findAllocation returns an allocation, or nil.
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

// publishSnapshot publishes a snapshot and wakes its watchers.
func (e *entry) publishSnapshot(s snapshot) { e.publish(&s) }

// publish is publishSnapshot without a copy: s must not be modified any more.
func (e *entry) publish(s *snapshot) {
	e.usage.noteChange(e.cur.Swap(s), s)
	e.summary.Store(nil)
	news := make(chan struct{})
	close(*e.news.Swap(&news))
}

// watchChanges returns the latest snapshot, and a channel that is closed by the next change.
func (e *entry) watchChanges() (snapshot, <-chan struct{}) {
	news := *e.news.Load() // before the snapshot, so that no change is missed
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

// findTask returns a task that has been stored.
func (r *registry) findTask(id rm.TaskID) (*entry, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, found := r.entries[id]
	if !found || e.cur.Load() == nil {
		return nil, false
	}
	return e, true
}

// taskOf returns the task of an allocation: "<task>.<n>".
func taskOf(id rm.AllocationID) rm.TaskID {
	if i := strings.LastIndexByte(string(id), '.'); i >= 0 {
		return rm.TaskID(id[:i])
	}
	return rm.TaskID(id)
}

// findAllocation returns the task in memory that has the allocation.
func (r *registry) findAllocation(id rm.AllocationID) (*entry, bool) {
	e, found := r.findTask(taskOf(id))
	if !found {
		return nil, false
	}
	_, found = e.latestSnapshot().allocationByID(id)
	return e, found
}

// makeTask reserves an id and creates its task with make, while other callers for the same id wait. If
// the id already has an entry, it returns that and false. The id is released after an error, or if make
// creates no task.
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

// abandonTask releases a reserved id. The caller holds e.change.
func (r *registry) abandonTask(id rm.TaskID, e *entry) {
	e.gone = true
	r.dropTask(id)
}

// reserveID returns the entry of id, and reports whether it was created by the call. A new entry is
// locked for the caller.
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

// addEntry adds an entry for an id without one. The caller holds mu.
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
	delete(r.serving, id)
	last := len(r.row) - 1
	r.row[e.place], r.row[last].place = r.row[last], e.place
	r.row[last] = nil
	r.row = r.row[:last]
}

// listTasks returns the tasks, oldest first.
func (r *registry) listTasks() []*entry {
	return r.listWhere(func(*snapshot) bool { return true })
}

// listWhere returns the tasks that satisfy a condition, oldest first.
func (r *registry) listWhere(in func(*snapshot) bool) []*entry {
	return oldestFirst(r.collectWhere(in))
}

// oldestFirst sorts entries. It reads each task once, because they are scattered in memory.
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

// listChanged returns the open tasks that have changed since Attach submitted them, oldest first. It is
// called once, because it clears the record of submitted snapshots.
func (r *registry) listChanged() []*entry {
	return oldestFirst(slices.DeleteFunc(r.listAll(), func(e *entry) bool {
		s, attached := e.cur.Load(), e.attached
		e.attached = nil // it would be kept for as long as the task
		return s == nil || s == attached || !isOpen(s)
	}))
}

// collectWhere is listWhere in no particular order.
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

// listAll returns the tasks in no particular order, including those that are not stored yet.
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

// joinJob adds a task of an owner to the index by job.
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

// serve adds a task to the index of those that serve people, if it is one. dropTask undoes it.
func (r *registry) serve(t lifecycle.Task, e *entry) {
	if !kindOf(t.Kind).serves {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving[t.ID] = e
}

// listServing returns the tasks of a kind that serves people.
func (r *registry) listServing(k lifecycle.Kind) []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(r.serving)), func(e *entry) bool { return e.cur.Load().task.Kind != k })
}

// listJob returns the owned tasks of a job.
func (r *registry) listJob(id rm.JobID) []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.jobs[id]))
}
