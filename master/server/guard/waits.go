package guard

import (
	"sync"

	"github.com/det-deploy/det-deploy/master/api/status"
)

// Waits counts the calls that last: logs that are followed and signals that are waited
// for, by user or by allocation.
type Waits struct {
	Most int // 0 for any number

	mu sync.Mutex // guards of
	of map[string]int
}

// NewWaits lets each owner have most at a time; 0 is no limit.
func NewWaits(most int) *Waits { return &Waits{Most: most, of: map[string]int{}} }

// Acquire counts a call in. The caller leaves when it ends.
func (w *Waits) Acquire(owner string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Most > 0 && w.of[owner] >= w.Most {
		return nil, status.New(status.ResourceExhausted,
			"%s follows %d logs and signals already, which is the limit security.limits.streams_per_user; end some first", owner, w.Most)
	}
	w.of[owner]++
	return func() { w.release(owner) }, nil
}

func (w *Waits) release(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[owner]--; w.of[owner] == 0 {
		delete(w.of, owner)
	}
}
