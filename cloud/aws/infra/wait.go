package infra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/delay"
)

// limit bounds one kind of waiting. What is put into the error, so that it says
// which limit it was.
type limit struct {
	what string
	max  time.Duration
}

// The limits. Amazon promises no times; these are several times what is usual.
var (
	// Describing what was made a moment ago: a few seconds as a rule.
	toAppear = limit{"to appear", 2 * time.Minute}
	// A list may show what a look by identity does not know yet; what it does not
	// know after this is gone.
	toBeSure = limit{"to be described", 10 * time.Second}
	// EC2 learns of a new instance profile within half a minute.
	toBeUsable = limit{"to become usable", 2 * time.Minute}
	// Interfaces of a terminated machine vanish within a minute or two; a
	// machine with much memory takes several to stop.
	toBeFree = limit{"to be no longer in use", 10 * time.Minute}
	toStart  = limit{"to start", 10 * time.Minute}
	toStop   = limit{"to stop", 10 * time.Minute}
	toEnd    = limit{"to be gone", 10 * time.Minute}
	// A volume from a snapshot is usable at once and filled in later.
	toBeAttachable = limit{"to be available", 5 * time.Minute}
)

const (
	firstPause = time.Second
	// Describe calls have a budget of 20 a second for the whole account and
	// region; five steps side by side, each every five seconds, leave room.
	longestPause = 5 * time.Second
)

// WaitError is something that did not come to pass within its limit.
type WaitError struct {
	// Subject is what was waited for; For is what it should have done.
	Subject, For string
	Limit        time.Duration
	// Err is the last refusal, where there was one.
	Err error
}

// Error names the subject, the limit and the last refusal.
func (e *WaitError) Error() string {
	s := fmt.Sprintf("waited %s for %s %s", e.Limit, e.Subject, e.For)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the last refusal.
func (e *WaitError) Unwrap() error { return e.Err }

// Hint says that nothing is lost.
func (e *WaitError) Hint() string { return "run the same command again; it continues to wait" }

// await asks until done says so, fails, or the limit has passed.
func (c *Cluster) await(ctx context.Context, subject string, l limit, done func() (bool, error)) error {
	waited, pause := time.Duration(0), firstPause
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if waited >= l.max {
			return &WaitError{Subject: subject, For: l.what, Limit: l.max}
		}
		c.log().DebugContext(ctx, "waiting", "resource", subject, "until", l.what, "waited", waited)
		if err := c.pause(ctx, pause); err != nil {
			return err
		}
		waited += pause
		pause = min(pause*2, longestPause)
	}
}

func (c *Cluster) pause(ctx context.Context, d time.Duration) error {
	if c.Pause != nil {
		return c.Pause(ctx, d)
	}
	return delay.For(ctx, d)
}

// persist repeats a call as long as it is refused with kind. Such a refusal is
// known to have had no effect, so repeating is safe.
func (c *Cluster) persist(ctx context.Context, subject string, l limit, kind cloud.Kind, call func() error) error {
	var last error
	err := c.await(ctx, subject, l, func() (bool, error) {
		last = call()
		if cloud.KindOf(last) == kind {
			return false, nil
		}
		return true, last
	})
	if w, ok := err.(*WaitError); ok && last != nil { //nolint:errorlint // its own, not one inside the call's
		w.Err = last
	}
	return err
}

// known makes a call about something that is known to exist and that not every
// part of Amazon has heard of yet.
func (c *Cluster) known(ctx context.Context, subject string, call func() error) error {
	return c.persist(ctx, subject, toAppear, cloud.NotFound, call)
}

// sure looks at something that a list has shown. NotFound is the answer when it
// stays away.
func (c *Cluster) sure(ctx context.Context, subject string, call func() error) error {
	err := c.persist(ctx, subject, toBeSure, cloud.NotFound, call)
	if w, ok := errors.AsType[*WaitError](err); ok && w.Err != nil {
		return w.Err
	}
	return err
}

// release makes a call that removes something, for as long as what uses it is
// on its way out. That it is gone already is fine.
func (c *Cluster) release(ctx context.Context, subject string, call func() error) error {
	return gone(c.persist(ctx, subject, toBeFree, cloud.Conflict, call))
}

// gone takes "there is none" for what a removal wanted.
func gone(err error) error {
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	return err
}

// changeable is a resource that can be changed in place.
type changeable interface {
	resource.Resource
	resource.Updater
}

// adopt completes something that is there already under its name. A look may not
// show it yet.
func (c *Cluster) adopt(ctx context.Context, r changeable) error {
	var drift []resource.Drift
	err := c.await(ctx, r.ID(), toAppear, func() (bool, error) {
		found, d, err := r.Find(ctx)
		drift = d
		return found.Exists(), err
	})
	if err != nil {
		return err
	}
	return r.Update(ctx, drift)
}
