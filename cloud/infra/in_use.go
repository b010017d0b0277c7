package infra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// tellEvery is the time between two reports of what is waited for.
const tellEvery = time.Minute

// Holder keeps an object from being removed.
type Holder struct {
	// Names lists its objects; empty where the refusal names them, or no call does.
	Names string
	// Command frees the object; empty where no one command does.
	Command string
}

// RetryWhileInUse makes a call that removes something, for as long as what uses it is
// on its way out. That it is gone already is fine. The user is told of the first refusal
// and then of one each minute.
func (w Waiter) RetryWhileInUse(ctx context.Context, subject string, call func() error) error {
	return w.RetryWhileHeld(ctx, subject, nil, call)
}

// RetryWhileHeld is RetryWhileInUse for an object whose holder can be looked up by a
// refusal; lookUp may be nil.
func (w Waiter) RetryWhileHeld(ctx context.Context, subject string, lookUp func(context.Context, error) Holder, call func() error) error {
	var next time.Time
	var holder Holder
	err := w.RetryOn(ctx, subject, ToBeFree, cloud.Conflict, func() error {
		err := call()
		if now := time.Now(); cloud.KindOf(err) == cloud.Conflict && !now.Before(next) {
			next = now.Add(tellEvery)
			if lookUp != nil {
				holder = lookUp(ctx, err)
			}
			resource.Tell(ctx, describeWait(subject, holder, err))
		}
		return err
	})
	if e, ok := errors.AsType[*WaitError](err); ok {
		e.Holder = holder
	}
	return IgnoreMissing(err)
}

// describeWait names the object and its holder, with what to do if the wait does not end by itself.
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
