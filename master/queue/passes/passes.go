// Package passes runs the passes of a scheduler: one when something has changed or a time
// has come, and never two at a time.
package passes

import (
	"context"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// Passes are those of one scheduler. Make them with New.
type Passes struct {
	wake chan struct{}
	// later is a wake that lets others join it.
	later chan struct{}

	// mu guards next, which is closed at the end of the pass that has not begun yet.
	mu   sync.Mutex
	next chan struct{}
}

// New is for one scheduler.
func New() *Passes {
	return &Passes{wake: make(chan struct{}, 1), later: make(chan struct{}, 1), next: make(chan struct{})}
}

// Wake has a pass made soon. It never waits.
func (p *Passes) Wake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// crowdRest is how many times as long as a pass took the next one rests when only WakeLater
// asks for it: a tenth of a processor goes into the passes while thousands of agents come.
// longestRest is for passes that took long because others use the machine.
const (
	crowdRest   = 9
	longestRest = 300 * time.Millisecond
)

// WakeLater asks for a pass about what comes in crowds, such as agents that connect. It is
// for those that come in the meantime as well; Wake does not wait for it.
func (p *Passes) WakeLater() {
	select {
	case p.later <- struct{}{}:
	default:
	}
}

// busyRest is how many times as long as a pass took the next one rests, up to busyPause: what tasks
// that come and end without a pause want of it is done together, in a fifth of a processor.
const (
	busyRest  = 4
	busyPause = 10 * time.Millisecond
)

// restAfter is the rest after a pass that took so long. One over a long queue takes longer than
// busyPause, and leaves half of a processor to those who fill the queue.
func restAfter(took time.Duration) time.Duration { return max(took, min(busyRest*took, busyPause)) }

// Run makes a pass at once, after each wake and at the time that the last pass has
// returned, of which zero is never. It returns when ctx ends, with its error.
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

// await returns when a pass is asked for or due, and a rest after it may be asked for later.
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

// Wait returns nil at the end of a pass that began after Wait was called, which a loop
// that is stuck never makes; ctx bounds the wait.
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
