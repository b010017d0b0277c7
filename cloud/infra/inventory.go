package infra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Lister lists what belongs to a cluster, of one kind.
type Lister struct {
	Kind string
	List func(context.Context) ([]resource.Found, error)
}

// ListAll asks all kinds side by side: there are twenty, and each is a call at least.
// One that cannot be listed refuses the whole, so that nothing is taken for gone.
func ListAll(ctx context.Context, listers []Lister) ([]resource.Found, error) {
	found := make([][]resource.Found, len(listers))
	calls := make([]func() error, len(listers))
	for i, l := range listers {
		calls[i] = func() (err error) {
			if found[i], err = l.List(ctx); err != nil {
				return fmt.Errorf("list each %s: %w", l.Kind, err)
			}
			return nil
		}
	}
	if err := SideBySide(calls...); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// SideBySide makes calls at the same time and joins what they refuse.
func SideBySide(calls ...func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
