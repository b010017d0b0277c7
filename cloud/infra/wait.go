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

// Limit is the timeout for one kind of wait. What describes the awaited condition in the error.
type Limit struct {
	What string
	Max  time.Duration
}

// The limits common to all platforms. They are several times the usual duration, because no
// platform guarantees one.
var (
	// ToAppear is the limit for a new object to become visible, usually a few seconds.
	ToAppear = Limit{"to appear", 2 * time.Minute}
	// ToBeDescribed is the limit for an object that is listed but cannot be described yet. After
	// that it counts as deleted.
	ToBeDescribed = Limit{"to be described", 10 * time.Second}
	// ToBeFree is the limit for an object in use by objects that are being deleted. Network
	// interfaces of a terminated instance vanish within a minute or two; an instance with much
	// memory takes several minutes to stop.
	ToBeFree = Limit{"to be no longer in use", 10 * time.Minute}
)

const (
	firstPause = time.Second
	// Read calls are throttled, in the smallest case to 20 per second for an account and region.
	// Five steps in parallel that poll every five seconds stay well below.
	longestPause = 5 * time.Second
)

// Waiter waits for asynchronous changes of a platform.
type Waiter struct {
	// Pause waits for d or until ctx is done. Nil uses a timer.
	Pause func(ctx context.Context, d time.Duration) error
	// Log receives a debug message at each attempt. Nil disables it.
	Log *slog.Logger
}

// WaitError reports that a condition was not met within its limit.
type WaitError struct {
	// Subject is the awaited object, For the condition.
	Subject, For string
	Limit        time.Duration
	// Err is the last error of the platform, if any.
	Err error
	// Holder is the object in the way, if known.
	Holder Holder
}

// Error names the subject, the limit and the last error.
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

// Unwrap returns the last error of the platform.
func (e *WaitError) Unwrap() error { return e.Err }

// Hint tells the user how to continue.
func (e *WaitError) Hint() string {
	if e.Holder.Command != "" {
		return e.Holder.Command + "; then run the same command again"
	}
	return "run the same command again; it continues to wait"
}

// Await calls done until it returns true or an error, or until the limit has passed.
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

// RetryOn repeats a call while it fails with kind. The kind must imply that the call had no effect.
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

// RetryUntilKnown repeats a call while it returns NotFound, because a new object is not yet visible
// to all parts of the platform.
func (w Waiter) RetryUntilKnown(ctx context.Context, subject string, call func() error) error {
	return w.RetryOn(ctx, subject, ToAppear, cloud.NotFound, call)
}

// LookUpListed looks up an object that was listed. It returns NotFound if the object does not
// become visible.
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

// Adopt updates an existing object of the same name. It waits until the object is visible.
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
