package machines

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Question is a request to a platform that stores its answer.
type Question func(ctx context.Context) error

// SideBySide returns a question that asks all questions concurrently. It returns the first error
// and cancels the others.
func SideBySide(questions ...Question) Question {
	return func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		for _, ask := range questions {
			g.Go(func() error { return ask(ctx) })
		}
		return g.Wait()
	}
}

// InTurn returns a question that asks the questions in order, up to the first error.
func InTurn(questions ...Question) Question {
	return func(ctx context.Context) error {
		for _, ask := range questions {
			if err := ask(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
