package resource

import "context"

type telling struct{}

// WithTell returns a context with a function that reports progress to the user. Only the engine
// that runs a step sets it.
func WithTell(ctx context.Context, tell func(what string)) context.Context {
	return context.WithValue(ctx, telling{}, tell)
}

// Tell reports the progress of a step to the user if ctx has a function for it.
func Tell(ctx context.Context, what string) {
	if tell, found := ctx.Value(telling{}).(func(string)); found {
		tell(what)
	}
}
