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

// hold remembers a container, and no longer what was known of one of the same name.
func (r *Runtime) hold(id string, h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.held[id]; before != nil {
		before.reads.close()
	}
	r.held[id] = h
}

// forget is what is known of a container, which is the caller's from here on, or what is found in
// its directory.
func (r *Runtime) forget(id string) *held {
	r.mu.Lock()
	h := r.held[id]
	delete(r.held, id)
	r.mu.Unlock()
	if h == nil {
		h = r.containerDir(id).look()
	}
	return h
}

// look finds what there is of a container.
func (d dir) look() *held {
	h := &held{}
	h.files, _ = d.diskFiles()
	h.output, _ = d.leadsTo(outputLink)
	h.lent, _ = d.lentFiles()
	h.uid, h.isolated = d.isolatedUser()
	return h
}

// takeReads lends the open files of a container's output: who removes the container meanwhile does not
// give them to another. It is nil where there are none.
func (r *Runtime) takeReads(id string) *outputReads {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.held[id]
	if h == nil {
		return nil
	}
	reads := h.reads
	h.reads = nil
	return reads
}

// returnReads is after takeReads.
func (r *Runtime) returnReads(id string, reads *outputReads) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.held[id]; h != nil && h.reads == nil {
		h.reads = reads
		return
	}
	reads.close()
}

// endOf is what is known of the end of a task.
func (r *Runtime) endOf(id string) (s status, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.held[id]; h != nil && h.end != nil {
		return *h.end, true
	}
	return status{}, false
}

// noteEnd remembers an end after which nothing changes: neither what was written, nor that no process
// is left.
func (r *Runtime) noteEnd(id string, s status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.held[id]; h != nil && s.ended {
		h.end = &s
	}
}

// root has the task's paths.
func (h *held) root(d dir) string {
	if h.lent != "" {
		return h.lent
	}
	return d.filePath("root")
}
