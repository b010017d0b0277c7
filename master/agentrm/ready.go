package agentrm

import (
	"context"
	"errors"
)

// Ready returns nil once a pass over all pools was made after it was asked, which a
// loop that is stuck never does; ctx bounds the wait.
func (r *RM) Ready(ctx context.Context) error {
	r.mu.Lock()
	running, passed := r.running, r.passed
	r.mu.Unlock()
	if !running {
		return errors.New("the pools of agents are not run")
	}
	r.stir()
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notePass tells who waits in Ready of the pass that ends here; the caller holds mu.
func (r *RM) notePass() {
	close(r.passed)
	r.passed = make(chan struct{})
}
