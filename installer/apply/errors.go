package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/installer/plan"
)

// StepError reports a failed step. It has the hint of its cause.
type StepError struct {
	Verb plan.Verb
	ID   string
	Err  error
}

// Error returns a text such as "create aws/instance/master: …".
func (e *StepError) Error() string { return fmt.Sprintf("%s %s: %s", e.Verb, e.ID, e.Err) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// Error reports that a plan was not completed.
type Error struct {
	// Left and Total count steps.
	Left, Total int
	// Err joins the errors of the steps; after an interruption, it includes context.Canceled.
	Err error

	failed []error // the errors in Err
}

// Error lists the errors and the number of remaining steps.
func (e *Error) Error() string {
	return fmt.Sprintf("%s\n%d of %d steps are left; nothing needs cleaning up, run the same command again to continue",
		e.Err, e.Left, e.Total)
}

// Unwrap returns the joined errors.
func (e *Error) Unwrap() error { return e.Err }

// Only returns the failed step if it is the only error.
func (e *Error) Only() (s *StepError, found bool) {
	if len(e.failed) != 1 {
		return nil, false
	}
	return errors.AsType[*StepError](e.failed[0])
}

// Because returns a copy of e that replaces the cause of the only failed step. If several steps
// failed, it joins the cause to them.
func (e *Error) Because(cause error) error {
	s, found := e.Only()
	if !found {
		return errors.Join(e, cause)
	}
	because := &StepError{Verb: s.Verb, ID: s.ID, Err: cause}
	return &Error{Left: e.Left, Total: e.Total, Err: because, failed: []error{because}}
}

// stopped returns the reason why no more steps were tried: an interruption, or a lost lease.
func stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("stopped: %w", cause)
	}
	return ctx.Err() // the cause names a signal
}

// joinErrors joins the errors of jobs; it returns nil if all are done.
func joinErrors(ctx context.Context, jobs []job, errs []error, closing error) error {
	left := 0
	var real []error
	for i := range jobs {
		if errs[i] != nil {
			left++
		}
		if errs[i] != nil && !errors.Is(errs[i], plan.ErrNotTried) {
			real = append(real, errs[i])
		}
	}
	if left > len(real) && ctx.Err() != nil {
		real = append(real, stopped(ctx))
	}
	if closing != nil {
		real = append(real, closing)
	}
	if len(real) == 0 {
		return nil
	}
	return &Error{Left: left, Total: len(jobs), Err: errors.Join(real...), failed: real}
}
