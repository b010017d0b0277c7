package installer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/installer/event"
)

// undoLimit is how long taking back all phases may take after a failure, unless
// they ask for more. It has
// to outlast one slow call to a platform, and not a person's patience.
const undoLimit = 30 * time.Second

// phase is one of the few stages of an operation that are procedures. What exists is a
// resource and not a phase.
type phase struct {
	// Name is a verb phrase: "lock the cluster".
	Name string
	// Do carries the stage out.
	Do func(context.Context) error
	// Undo takes it back after a later stage failed. It is nil where running
	// the operation again continues.
	Undo func(context.Context) error
	// Limit is how much longer than undoLimit taking back may take because of
	// this phase.
	Limit time.Duration
}

// runPhases carries out phases in order and reports to sink. When one fails, or ctx is
// cancelled between two, the phases already done are undone in reverse under a
// context that outlives the interruption, and every error met is joined.
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
