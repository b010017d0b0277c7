package server

import (
	"fmt"
	"sync"

	"github.com/det-deploy/det-deploy/master/api/status"
)

// waits counts the calls that last: logs that are followed and signals that are waited
// for, by user or by allocation.
type waits struct {
	most int // 0 for any number

	mu sync.Mutex // guards of
	of map[string]int
}

func newWaits(most int) *waits { return &waits{most: most, of: map[string]int{}} }

// ownerKey is whom a call counts against.
func (c *call) ownerKey() string {
	if c.allocation != "" {
		return "allocation " + c.allocation
	}
	return fmt.Sprintf("user %d", c.user.GetId())
}

// acquireWait counts a call in. The caller leaves when it ends.
func (w *waits) acquireWait(owner string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.most > 0 && w.of[owner] >= w.most {
		return nil, status.New(status.ResourceExhausted,
			"%s follows %d logs and signals already, which is the limit security.limits.streams_per_user; end some first", owner, w.most)
	}
	w.of[owner]++
	return func() { w.releaseWait(owner) }, nil
}

func (w *waits) releaseWait(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[owner]--; w.of[owner] == 0 {
		delete(w.of, owner)
	}
}
