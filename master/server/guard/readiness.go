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
	// ProbeEvery is the interval of a succeeding check.
	ProbeEvery = 5 * time.Second
	// ProbeAgain is the interval of a failing check.
	ProbeAgain = time.Second
	// probeSoon is the first interval of a check that has never succeeded. It doubles up to ProbeAgain, so
	// that a starting master becomes ready without delay.
	probeSoon = 10 * time.Millisecond
	// ProbeLimit is the time after which a running check counts as failed.
	ProbeLimit = 2 * time.Second
)

// Check is a requirement for serving requests.
type Check struct {
	// Name is its key in the response, such as "store".
	Name string
	// Failure is the reason in the public response if it fails. The error itself is only logged.
	Failure string
	// Ask returns an error if the requirement is not met. It may block: it runs in the background and
	// never concurrently.
	Ask func(context.Context) error
}

// Readiness runs its checks periodically and caches the results, so that requests for them cost nothing. A
// check fails until its first result.
type Readiness struct {
	checks []Check
	log    *slog.Logger

	mu      sync.Mutex
	reasons map[string]string // by name; succeeding checks have none
}

// NewReadiness returns a Readiness that runs its checks in Run.
func NewReadiness(log *slog.Logger, checks ...Check) *Readiness {
	r := &Readiness{checks: checks, log: log, reasons: map[string]string{}}
	for _, c := range checks {
		r.reasons[c.Name] = "not checked yet"
	}
	return r
}

// NotReady returns the reasons why this master is not ready, by the names of the checks. It is empty if
// the master is ready. A nil Readiness is always ready.
func (r *Readiness) NotReady() map[string]string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.reasons)
}

// Run runs the checks until ctx ends.
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
		_ = wait.For(ctx, pause) // the loop checks ctx
	}
}

// ask runs the check and reports whether it succeeds. If the check exceeds ProbeLimit, ask records a
// failure and waits for it to end, so that checks never run concurrently.
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

// noteAnswer stores a result and logs changes.
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
		r.log.Warn("master is not ready", "check", c.Name, "err", err)
	case err == nil && before == c.Failure:
		r.log.Info("master is ready again", "check", c.Name)
	}
	return err == nil
}

// JoinReasons returns all reasons in one line, sorted by name.
func JoinReasons(reasons map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, name+": "+reasons[name])
	}
	return strings.Join(all, "; ")
}
