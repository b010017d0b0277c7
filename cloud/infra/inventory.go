package infra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Listed is a kind of a cluster's objects with the functions to list and to delete them.
type Listed struct {
	Kind   string
	List   func(context.Context) ([]resource.Found, error)
	Remove func(ctx context.Context, id string) error
	// Apart sets resource.Found.Apart of all listed objects.
	Apart bool
}

// ListApart sets Apart for kinds whose objects may be in use by others.
func ListApart(kinds ...Listed) Inventory {
	for i := range kinds {
		kinds[i].Apart = true
	}
	return kinds
}

// ListedOf returns a kind of the cluster c with its own function to list objects.
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

// Inventory lists all kinds, dependencies first.
type Inventory []Listed

// Kinds returns the names of all kinds.
func (all Inventory) Kinds() []string {
	var out []string
	for _, k := range all {
		out = append(out, k.Kind)
	}
	return out
}

// List lists the objects of all kinds in parallel: there are about twenty, each with at least one
// call. It returns an error if any kind cannot be listed, so that no object is considered deleted
// by mistake.
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

// Remove deletes a listed object. It waits for objects in use that are being deleted, and returns
// nil if the object no longer exists.
func (all Inventory) Remove(ctx context.Context, f resource.Found) error {
	i := slices.IndexFunc(all, func(k Listed) bool { return k.Kind == f.Kind })
	if i < 0 {
		return fmt.Errorf("remove %s: unknown kind %s", f, f.Kind)
	}
	return all[i].Remove(ctx, f.ID)
}

// SideBySide runs calls in parallel and joins their errors.
func SideBySide(calls ...func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
