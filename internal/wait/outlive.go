package wait

import (
	"context"
	"time"
)

// outlived is the context key of the parent of a context returned by Outlive.
type outlived struct{}

// Outlive returns a context for a step that must be completed after ctx was canceled. Calls with it
// continue; ForWanted returns when ctx ends, and Unwanted returns an error to stop retries.
func Outlive(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), outlived{}, ctx)
}

// Unwanted returns the error of the context that ctx outlives, or nil if that has not ended. The
// caller must not retry after an error.
func Unwanted(ctx context.Context) error {
	wanted, found := ctx.Value(outlived{}).(context.Context)
	if !found {
		return nil
	}
	return wanted.Err()
}

// ForWanted is like For, but also returns when the context that ctx outlives ends, with its error.
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
