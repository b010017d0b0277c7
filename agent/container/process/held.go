package process

import "os"

// held is what this agent remembers of a container that it has started itself: a short task would
// spend more on looking for it again than on its program. What an earlier agent has started is found
// in its directory; see look.
type held struct {
	given
	// lent is where the paths of the task are, if they are elsewhere.
	lent string
	// isolated says that the task has namespaces, and uid is its user.
	isolated bool
	uid      int
	// names are the files in the directory of the container, where all are known; info says that some
	// are in a directory of that name.
	names []string
	info  bool
	// end is what the task's parent wrote, once nothing is left of the task's group.
	end *status
}

// given is what a container has on disk.
type given struct {
	// files and output are where the links of the container lead, and empty without these.
	files, output string
	// modes are those of the directory and of what is kept in it, where they have been another task's
	// and nothing else is there.
	modes stamps
	// reads are the files of the output, for the agent, or nil.
	reads *outputReads
}

// outputReads are the files of a task's output as the agent has them open.
type outputReads [len(outputs)]*os.File

func (r *outputReads) close() {
	if r == nil {
		return
	}
	for _, f := range r {
		if f != nil {
			_ = f.Close()
		}
	}
}

// hold remembers a container that was started.
func (r *Runtime) hold(id string, h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[id] = h
}

// heldOf is what is remembered of a container, or nil. What changes in it is guarded by mu until it is forgotten.
func (r *Runtime) heldOf(id string) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[id]
}

// forget is what was remembered of a container, which is the caller's from here on, or nil.
func (r *Runtime) forget(id string) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.held[id]
	delete(r.held, id)
	return h
}

// look finds what there is of a container that another agent has started.
func (d dir) look() *held {
	h := &held{}
	h.files, _ = d.diskFiles()
	h.output, _ = d.leadsTo(outputLink)
	h.lent, _ = d.lentFiles()
	h.uid, h.isolated = d.isolatedUser()
	return h
}

// takeReads lends the open files of a container's output: who removes the container meanwhile does not
// give them to another. They are nil where there are none.
func (r *Runtime) takeReads(h *held) *outputReads {
	if h == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	reads := h.reads
	h.reads = nil
	return reads
}

// returnReads is after takeReads. Where the container is no longer remembered, or another of its name is,
// these are of no use to another.
func (r *Runtime) returnReads(id string, h *held, reads *outputReads) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[id] == h {
		h.reads = reads
		return
	}
	reads.close()
}

// endOf is what is known of the end of a task.
func (r *Runtime) endOf(h *held) (s status, known bool) {
	if h == nil {
		return status{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.end == nil {
		return status{}, false
	}
	return *h.end, true
}

// noteEnd remembers an end after which nothing changes: neither what was written, nor that no process
// is left.
func (r *Runtime) noteEnd(h *held, s status) {
	if h == nil || !s.ended {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h.end = &s
}

// root has the task's paths.
func (h *held) root(d dir) string {
	if h.lent != "" {
		return h.lent
	}
	return d.filePath("root")
}
