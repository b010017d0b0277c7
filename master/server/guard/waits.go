package guard

import (
	"sync"

	"github.com/det-deploy/det-deploy/master/api/status"
)

// Waits limits the number of long-running calls, such as followed logs and long polls, per user or
// allocation.
type Waits struct {
	Most int // 0 for no limit
	// Refusal is the format of the error for an owner with that many calls.
	Refusal string

	mu sync.Mutex // guards of
	of map[string]int
}

// NewWaits limits the calls per owner to most; 0 is unlimited.
func NewWaits(most int) *Waits {
	return &Waits{Most: most, of: map[string]int{}, Refusal: "%s already follows %d logs and signals, the limit of security.limits.streams_per_user; close some first"}
}

// Acquire counts a call. The caller must call leave at its end. It returns ResourceExhausted if the limit
// is reached.
func (w *Waits) Acquire(owner string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Most > 0 && w.of[owner] >= w.Most {
		return nil, status.New(status.ResourceExhausted, w.Refusal, owner, w.Most)
	}
	w.of[owner]++
	return func() { w.release(owner) }, nil
}

// Count returns the number of an owner's calls.
func (w *Waits) Count(owner string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[owner]
}

func (w *Waits) release(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[owner]--; w.of[owner] == 0 {
		delete(w.of, owner)
	}
}
