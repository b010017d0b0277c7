package machines

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Question is asked of a platform.
type Question func(ctx context.Context) error

// SideBySide asks several questions at once. What it returns is the first of them that
// was not answered, and the others are given up.
func SideBySide(questions ...Question) Question {
	return func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		for _, ask := range questions {
			g.Go(func() error { return ask(ctx) })
		}
		return g.Wait()
	}
}

// InTurn asks one question after the other, until one is not answered.
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
