package infra

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// Limit bounds one kind of waiting. What is put into the error, so that it says
// which limit it was.
type Limit struct {
	What string
	Max  time.Duration
}

// The limits that every platform has. No platform promises times; these are several
// times what is usual.
var (
	// ToAppear is for describing what was made a moment ago: a few seconds as a rule.
	ToAppear = Limit{"to appear", 2 * time.Minute}
	// ToBeDescribed is for what a list shows and a look by identity does not know yet;
	// what it does not know after this is gone.
	ToBeDescribed = Limit{"to be described", 10 * time.Second}
	// ToBeFree is for what is still used by something on its way out. Interfaces of a
	// terminated machine vanish within a minute or two; a machine with much memory
	// takes several to stop.
	ToBeFree = Limit{"to be no longer in use", 10 * time.Minute}
)

const (
	firstPause = time.Second
	// Calls that only look have a budget, of 20 a second for a whole account and region
	// at the smallest; five steps side by side, each every five seconds, leave room.
	longestPause = 5 * time.Second
)

// Waiter waits for what a platform has not finished.
type Waiter struct {
	// Pause waits for d or until ctx ends; nil waits on a timer.
	Pause func(ctx context.Context, d time.Duration) error
	// Log gets a line at debug level each time; nil is silence.
	Log *slog.Logger
}

// WaitError is something that did not come to pass within its limit.
type WaitError struct {
	// Subject is what was waited for; For is what it should have done.
	Subject, For string
	Limit        time.Duration
	// Err is the last refusal, where there was one.
	Err error
	// Holder is what was in the way, where that is known.
	Holder Holder
}

// Error names the subject, the limit and the last refusal.
func (e *WaitError) Error() string {
	s := fmt.Sprintf("waited %s for %s %s", e.Limit, e.Subject, e.For)
	if e.Holder.Names != "" {
		s += " by " + e.Holder.Names
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the last refusal.
func (e *WaitError) Unwrap() error { return e.Err }

// Hint says how to go on. Nothing is lost.
func (e *WaitError) Hint() string {
	if e.Holder.Command != "" {
		return e.Holder.Command + "; then run the same command again"
	}
	return "run the same command again; it continues to wait"
}

// Await asks until done says so, fails, or the limit has passed.
func (w Waiter) Await(ctx context.Context, subject string, l Limit, done func() (bool, error)) error {
	waited, pause := time.Duration(0), firstPause
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if waited >= l.Max {
			return &WaitError{Subject: subject, For: l.What, Limit: l.Max}
		}
		if w.Log != nil {
			w.Log.DebugContext(ctx, "waiting", "resource", subject, "until", l.What, "waited", waited)
		}
		if err := w.pauseFor(ctx, pause); err != nil {
			return fmt.Errorf("wait for %s %s: %w", subject, l.What, err)
		}
		waited += pause
		pause = min(pause*2, longestPause)
	}
}

func (w Waiter) pauseFor(ctx context.Context, d time.Duration) error {
	if w.Pause != nil {
		if err := wait.ForWanted(ctx, 0); err != nil {
			return err
		}
		return w.Pause(ctx, d)
	}
	return wait.ForWanted(ctx, d)
}

// RetryOn repeats a call as long as it is refused with kind. Such a refusal is known
// to have had no effect, so repeating is safe.
func (w Waiter) RetryOn(ctx context.Context, subject string, l Limit, kind cloud.Kind, call func() error) error {
	var last error
	err := w.Await(ctx, subject, l, func() (bool, error) {
		last = call()
		if cloud.KindOf(last) == kind {
			return false, nil
		}
		return true, last
	})
	if e, ok := err.(*WaitError); ok && last != nil { //nolint:errorlint // its own, not one inside the call's
		e.Err = last
	}
	return err
}

// RetryUntilKnown makes a call about something that exists and that not every part of
// the platform knows yet.
func (w Waiter) RetryUntilKnown(ctx context.Context, subject string, call func() error) error {
	return w.RetryOn(ctx, subject, ToAppear, cloud.NotFound, call)
}

// LookUpListed looks at something that a list has shown. NotFound is the answer when
// it stays away.
func (w Waiter) LookUpListed(ctx context.Context, subject string, call func() error) error {
	err := w.RetryOn(ctx, subject, ToBeDescribed, cloud.NotFound, call)
	if e, ok := errors.AsType[*WaitError](err); ok && e.Err != nil {
		return e.Err
	}
	return err
}

// Adoptable is a resource that can be changed in place.
type Adoptable interface {
	resource.Resource
	resource.Updater
}

// Adopt completes something that is there already under its name. A look may not show
// it yet.
func (w Waiter) Adopt(ctx context.Context, r Adoptable) error {
	var drift []resource.Drift
	err := w.Await(ctx, r.ID(), ToAppear, func() (bool, error) {
		found, d, err := r.Find(ctx)
		drift = d
		return found.Exists(), err
	})
	if err != nil {
		return err
	}
	return r.Update(ctx, drift)
}
