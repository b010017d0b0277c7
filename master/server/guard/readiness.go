package guard

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

const (
	// ProbeEvery is how often a check that holds is asked again.
	ProbeEvery = 5 * time.Second
	// ProbeAgain is how soon one that does not hold is asked again.
	ProbeAgain = time.Second
	// probeSoon is when one is asked again that has never held, which is twice as long each
	// time, up to ProbeAgain: a master that starts is not to be waited for.
	probeSoon = 10 * time.Millisecond
	// ProbeLimit is how long an answer may take until the check counts as failed.
	ProbeLimit = 2 * time.Second
)

// Check is one thing that must hold before a master can do what it is asked.
type Check struct {
	// Name is its key in the answer, "store".
	Name string
	// Failure is all that strangers read when it does not hold; the error is logged.
	Failure string
	// Ask returns why it does not hold. It may take long: it is asked in the
	// background, one question at a time.
	Ask func(context.Context) error
}

// Readiness asks its checks at intervals and keeps the answers, so that requests
// for them cost nothing. Before the first answer a check does not hold.
type Readiness struct {
	checks []Check
	log    *slog.Logger

	mu      sync.Mutex
	reasons map[string]string // by name; none for a check that holds
}

// NewReadiness returns a Readiness that asks nothing before Run.
func NewReadiness(log *slog.Logger, checks ...Check) *Readiness {
	r := &Readiness{checks: checks, log: log, reasons: map[string]string{}}
	for _, c := range checks {
		r.reasons[c.Name] = "not checked yet"
	}
	return r
}

// NotReady is why this master is not ready, by the names of the checks; empty when
// it is. A nil Readiness is ready.
func (r *Readiness) NotReady() map[string]string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.reasons)
}

// Run asks until ctx ends.
func (r *Readiness) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, c := range r.checks {
		all.Go(func() { r.follow(ctx, c) })
	}
	all.Wait()
}

func (r *Readiness) follow(ctx context.Context, c Check) {
	again := probeSoon
	for ctx.Err() == nil {
		pause := again
		if again = min(2*again, ProbeAgain); r.ask(ctx, c) {
			pause, again = ProbeEvery, ProbeAgain
		}
		_ = wait.For(ctx, pause) // the loop asks ctx
	}
}

// ask reports whether the check holds. A question that is not answered in time is
// waited for, so that there is never a second one beside it.
func (r *Readiness) ask(ctx context.Context, c Check) bool {
	answer := make(chan error, 1)
	go func() { answer <- c.Ask(ctx) }()
	limit := time.NewTimer(ProbeLimit)
	defer limit.Stop()
	select {
	case err := <-answer:
		return r.noteAnswer(ctx, c, err)
	case <-limit.C:
		r.noteAnswer(ctx, c, fmt.Errorf("no answer within %s", ProbeLimit))
	}
	return r.noteAnswer(ctx, c, <-answer)
}

// noteAnswer keeps an answer, and logs the first of its kind.
func (r *Readiness) noteAnswer(ctx context.Context, c Check, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	r.mu.Lock()
	before := r.reasons[c.Name]
	if err == nil {
		delete(r.reasons, c.Name)
	} else {
		r.reasons[c.Name] = c.Failure
	}
	r.mu.Unlock()
	switch {
	case err != nil && before != c.Failure:
		r.log.Warn("the master is not ready", "check", c.Name, "err", err)
	case err == nil && before == c.Failure:
		r.log.Info("the master is ready again", "check", c.Name)
	}
	return err == nil
}

// JoinReasons is all reasons in one line, in the order of their names.
func JoinReasons(reasons map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, name+": "+reasons[name])
	}
	return strings.Join(all, "; ")
}
