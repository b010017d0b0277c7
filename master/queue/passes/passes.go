// Package passes runs a scheduler's passes: one whenever something has changed or a deadline has come,
// and never two at a time.
package passes

import (
	"context"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// Passes triggers the passes of one scheduler. Use New to create it.
type Passes struct {
	wake chan struct{}
	// later requests a pass that may be delayed, so that further requests join it.
	later chan struct{}

	// mu guards next, which is closed at the end of the next pass to begin.
	mu   sync.Mutex
	next chan struct{}
}

// New returns the Passes of one scheduler.
func New() *Passes {
	return &Passes{wake: make(chan struct{}, 1), later: make(chan struct{}, 1), next: make(chan struct{})}
}

// Wake requests a pass soon. It does not block.
func (p *Passes) Wake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// crowdRest is the pause before a pass that only WakeLater requested, as a multiple of the duration of
// the last pass: while thousands of agents connect, passes take a tenth of a processor. longestRest
// bounds the pause after passes that took long because of other load on the machine.
const (
	crowdRest   = 9
	longestRest = 300 * time.Millisecond
)

// WakeLater requests a pass for events that come in large numbers, such as agents that connect. The pass
// is delayed so that it handles later events as well; Wake cuts the delay short.
func (p *Passes) WakeLater() {
	select {
	case p.later <- struct{}{}:
	default:
	}
}

// busyRest is the pause after each pass as a multiple of its duration, up to busyPause: a steady stream
// of tasks that start and end is handled in batches, with a fifth of a processor.
const (
	busyRest  = 4
	busyPause = 10 * time.Millisecond
)

// restAfter returns the pause after a pass of the given duration. A pass over a long queue takes longer
// than busyPause; the equal pause leaves half of a processor to those who fill the queue.
func restAfter(took time.Duration) time.Duration { return max(took, min(busyRest*took, busyPause)) }

// Run makes a pass at once, after each wake, and at the time that the last pass returned, if that is not
// zero. It returns ctx's error when ctx is done.
func (p *Passes) Run(ctx context.Context, pass func(now time.Time) (due time.Time)) error {
	for {
		began := time.Now()
		next := p.runOne(began, pass)
		took := time.Since(began)
		if err := wait.For(ctx, restAfter(took)); err != nil {
			return err
		}
		if err := p.await(ctx, next, min(crowdRest*took, longestRest)); err != nil {
			return err
		}
	}
}

// await returns when a pass is requested or due. A pass that WakeLater requested starts once rest has
// elapsed.
func (p *Passes) await(ctx context.Context, next time.Time, rest time.Duration) error {
	var due, rested <-chan time.Time
	if !next.IsZero() {
		due = time.After(time.Until(next))
	}
	began, later := time.Now(), p.later
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.wake:
			return nil
		case <-due:
			return nil
		case <-later:
			rested, later = time.After(rest-time.Since(began)), nil
		case <-rested:
			return nil
		}
	}
}

func (p *Passes) runOne(now time.Time, pass func(time.Time) time.Time) time.Time {
	p.mu.Lock()
	ended := p.next
	p.next = make(chan struct{})
	p.mu.Unlock()
	defer close(ended)
	return pass(now)
}

// Wait returns nil at the end of a pass that began after the call, or the error of ctx if that ends
// first, which it does if the loop is stuck.
func (p *Passes) Wait(ctx context.Context) error {
	p.mu.Lock()
	ended := p.next
	p.mu.Unlock()
	p.Wake()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
