package infra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Listed is one kind of what a cluster consists of: how it is listed, and how one of it is
// removed.
type Listed struct {
	Kind   string
	List   func(context.Context) ([]resource.Found, error)
	Remove func(ctx context.Context, id string) error
	// Apart is resource.Found.Apart of all listed objects.
	Apart bool
}

// ListApart marks kinds as such that others may still use.
func ListApart(kinds ...Listed) Inventory {
	for i := range kinds {
		kinds[i].Apart = true
	}
	return kinds
}

// ListedOf is a kind of the cluster c that is listed in a way of its own.
func ListedOf[C any](
	c C, kind string,
	list func(context.Context, C) ([]resource.Found, error), remove func(context.Context, C, string) error,
) Listed {
	return Listed{
		Kind:   kind,
		List:   func(ctx context.Context) ([]resource.Found, error) { return list(ctx, c) },
		Remove: func(ctx context.Context, id string) error { return remove(ctx, c, id) },
	}
}

// Inventory is all kinds, those that others need first.
type Inventory []Listed

// Kinds lists the name of every kind.
func (all Inventory) Kinds() []string {
	var out []string
	for _, k := range all {
		out = append(out, k.Kind)
	}
	return out
}

// List asks all kinds side by side: there are twenty, and each is a call at least.
// One that cannot be listed refuses the whole, so that nothing is taken for gone.
func (all Inventory) List(ctx context.Context) ([]resource.Found, error) {
	found := make([][]resource.Found, len(all))
	calls := make([]func() error, len(all))
	for i, k := range all {
		calls[i] = func() (err error) {
			if found[i], err = k.List(ctx); err != nil {
				return fmt.Errorf("list each %s: %w", k.Kind, err)
			}
			for j := range found[i] {
				found[i][j].Apart = k.Apart
			}
			return nil
		}
	}
	if err := SideBySide(calls...); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// Remove deletes one object that was listed. What holds it up and is on its way out is
// waited for. That it is gone already is fine.
func (all Inventory) Remove(ctx context.Context, f resource.Found) error {
	i := slices.IndexFunc(all, func(k Listed) bool { return k.Kind == f.Kind })
	if i < 0 {
		return fmt.Errorf("remove %s: this program knows no %s", f, f.Kind)
	}
	return all[i].Remove(ctx, f.ID)
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
