package wait

import (
	"context"
	"time"
)

// outlived is the key of the context that another one outlives.
type outlived struct{}

// Outlive returns a context for a step that has to be finished after ctx was cancelled. Its
// calls go on; the waits of ForWanted end with ctx, and Unwanted says not to try again.
func Outlive(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), outlived{}, ctx)
}

// Unwanted returns the error of the context that ctx outlives once that has ended: nothing is to be
// tried again then.
func Unwanted(ctx context.Context) error {
	wanted, found := ctx.Value(outlived{}).(context.Context)
	if !found {
		return nil
	}
	return wanted.Err()
}

// ForWanted is For, and returns also when the context that ctx outlives ends, with the error of
// that one: the user does not wait any longer.
func ForWanted(ctx context.Context, d time.Duration) error {
	wanted, found := ctx.Value(outlived{}).(context.Context)
	if !found {
		return For(ctx, d)
	}
	if err := wanted.Err(); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-wanted.Done():
		return wanted.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
