package installer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/installer/event"
)

// undoLimit is the default limit of undoing all phases after a failure. It must outlast one slow
// platform call without trying a user's patience.
const undoLimit = 30 * time.Second

// phase is a stage of an operation that is a procedure. Objects that exist are resources, not
// phases.
type phase struct {
	// Name is a verb phrase, such as "lock the cluster".
	Name string
	// Do executes the phase.
	Do func(context.Context) error
	// Undo reverts the phase after a later one failed. It is nil if running the operation again
	// continues.
	Undo func(context.Context) error
	// Limit is the time that this phase adds to undoLimit.
	Limit time.Duration
}

// runPhases executes phases in order and reports to sink. If one fails, or ctx is cancelled between
// two, it undoes the completed phases in reverse order with a context that is not cancelled, and
// returns all errors joined.
func runPhases(ctx context.Context, sink event.Sink, phases ...phase) error {
	for i, p := range phases {
		if err := runPhase(ctx, sink, p); err != nil {
			return errors.Join(err, undoPhases(ctx, phases[:i]))
		}
	}
	return nil
}

func runPhase(ctx context.Context, sink event.Sink, p phase) error {
	start := time.Now()
	e := event.Event{Scope: event.Phase, Subject: p.Name, Type: event.Started}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	sink.Emit(e)
	err := p.Do(ctx)
	e.Took = time.Since(start).Milliseconds()
	e.Type = event.Done
	if err != nil {
		err = fmt.Errorf("%s: %w", p.Name, err)
		e = e.Fail(err)
	}
	sink.Emit(e)
	return err
}

func undoPhases(ctx context.Context, done []phase) error {
	limit := undoLimit
	for _, p := range done {
		limit += p.Limit
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	var errs []error
	for _, p := range slices.Backward(done) {
		if p.Undo == nil {
			continue
		}
		if err := p.Undo(ctx); err != nil {
			errs = append(errs, fmt.Errorf("undo: %s: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}
