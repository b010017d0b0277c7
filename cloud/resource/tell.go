package resource

import "context"

type telling struct{}

// WithTell returns ctx with a way to tell the user how far a step is and what it waits
// for. Only the engine that runs the step sets it.
func WithTell(ctx context.Context, tell func(what string)) context.Context {
	return context.WithValue(ctx, telling{}, tell)
}

// Tell tells the user how far a step is or what it waits for, where ctx has a way to.
func Tell(ctx context.Context, what string) {
	if tell, found := ctx.Value(telling{}).(func(string)); found {
		tell(what)
	}
}
