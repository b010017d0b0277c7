package experiment

import "sync"

// dirty is the experiments that something is to be carried out for. One is taken by one at a time.
type dirty struct {
	mu    sync.Mutex // guards ids and taken
	ids   map[int32]bool
	taken map[int32]bool
	wakes chan struct{}
}

func newDirty() *dirty {
	return &dirty{ids: map[int32]bool{}, taken: map[int32]bool{}, wakes: make(chan struct{}, 1)}
}

func (d *dirty) wake(id int32) {
	d.mu.Lock()
	d.ids[id] = true
	d.mu.Unlock()
	d.signal()
}

func (d *dirty) signal() {
	select {
	case d.wakes <- struct{}{}:
	default:
	}
}

// take is all that are not taken; each is given back by finish.
func (d *dirty) take() []int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []int32
	for id := range d.ids {
		if !d.taken[id] {
			d.taken[id] = true
			delete(d.ids, id)
			out = append(out, id)
		}
	}
	return out
}

// finish gives one back; when there was news of it meanwhile, it is to be taken again.
func (d *dirty) finish(id int32) {
	d.mu.Lock()
	delete(d.taken, id)
	again := d.ids[id]
	d.mu.Unlock()
	if again {
		d.signal()
	}
}
