package infra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// progressInterval is the interval of progress messages during a wait.
const progressInterval = time.Minute

// Holder is an object that prevents the deletion of another one.
type Holder struct {
	// Names lists the holder's objects. It is empty if the platform's error names them or no call
	// returns them.
	Names string
	// Command releases the object. It is empty if no single command does.
	Command string
	// Foreign reports that the holder is not the cluster's and is not being deleted, so that waiting does
	// not release the object.
	Foreign bool
}

// HeldError reports an object that a foreign object uses.
type HeldError struct {
	Subject string
	Holder  Holder
	// Err is the error of the platform.
	Err error
}

func (e *HeldError) Error() string {
	s := e.Subject + " is in use"
	if e.Holder.Names != "" {
		s += " by " + e.Holder.Names
	}
	return s + ", which the cluster does not own: " + e.Err.Error()
}

// Unwrap returns the error of the platform.
func (e *HeldError) Unwrap() error { return e.Err }

// Hint names the command that releases the object.
func (e *HeldError) Hint() string { return e.Holder.Command + "; then run the same command again" }

// RetryWhileInUse calls a delete until it no longer returns a Conflict, while the objects that use
// the subject are being deleted. It ignores NotFound. It notifies the user of the first Conflict
// and then once per minute.
func (w Waiter) RetryWhileInUse(ctx context.Context, subject string, call func() error) error {
	return w.RetryWhileHeld(ctx, subject, nil, call)
}

// RetryWhileHeld is like RetryWhileInUse, and calls lookUp with the Conflict to find the holder of
// the object. It returns a *HeldError at once if the holder is foreign. LookUp may be nil.
func (w Waiter) RetryWhileHeld(ctx context.Context, subject string, lookUp func(context.Context, error) Holder, call func() error) error {
	var next time.Time
	var holder Holder
	var held *HeldError
	err := w.RetryOn(ctx, subject, ToBeFree, cloud.Conflict, func() error {
		err := call()
		if cloud.KindOf(err) != cloud.Conflict {
			return err
		}
		if lookUp != nil {
			holder = lookUp(ctx, err)
		}
		if holder.Foreign {
			held = &HeldError{subject, holder, err}
			return nil
		}
		if now := time.Now(); !now.Before(next) {
			next = now.Add(progressInterval)
			resource.Tell(ctx, describeWait(subject, holder, err))
		}
		return err
	})
	if held != nil {
		return held
	}
	if e, ok := errors.AsType[*WaitError](err); ok {
		e.Holder = holder
	}
	return IgnoreMissing(err)
}

// describeWait names the object, its holder and the remedy if the wait does not end by itself.
func describeWait(subject string, h Holder, err error) string {
	text := fmt.Sprintf("waiting for %s to be no longer in use", subject)
	if h.Names != "" {
		text += " by " + h.Names
	}
	text += ": " + err.Error()
	hint := h.Command
	if e, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && hint == "" {
		hint = e.Hint()
	}
	if hint != "" {
		text += "; try: " + hint
	}
	return text
}
