package delay

import (
	"context"
	"time"
)

// outlived is the key of the context that another one outlives.
type outlived struct{}

// Outlive returns a context for a step that has to be finished after ctx was cancelled. Its
// calls go on; only the waits of ForWanted end with ctx.
func Outlive(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), outlived{}, ctx)
}

// ForWanted is For, and returns also when the context that ctx outlives ends: the user does not
// wait any longer.
//
//nolint:contextcheck // both contexts come from ctx: the one that is outlived is a value of it
func ForWanted(ctx context.Context, d time.Duration) error {
	wanted, found := ctx.Value(outlived{}).(context.Context)
	if !found {
		return For(ctx, d)
	}
	if err := wanted.Err(); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(wanted, func() { stop(wanted.Err()) })()
	if For(ctx, d) != nil {
		return context.Cause(ctx)
	}
	return nil
}
