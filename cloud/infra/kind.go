package infra

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Observed holds the common attributes of a live object of any kind.
type Observed struct {
	// Identity is the platform's ID or name of the object.
	Identity string
	// Marks are its tags or labels, or those stored in its description if the kind has none.
	Marks map[string]string
	// Deleting reports whether the object is being deleted. It is omitted from lists then.
	Deleting bool
	// Failed reports whether its creation failed: it holds nothing and no resource takes it, but
	// the inventory lists it, so that it is removed.
	Failed bool
	// Used reports whether another object depends on it.
	Used bool
	// Blank reports whether a disk was never attached to a machine, so that it contains no data.
	Blank   bool
	Created time.Time
}

// Live is a live object and its common attributes.
type Live[T any] struct {
	Observed

	Object T
}

// Kind describes a kind of objects that carry marks. Where objects have deterministic names, List
// may look one up by name.
type Kind[T any] struct {
	// Name is the kind's name in the inventory: "subnet".
	Name string
	// List returns all objects with the given marks, across all pages. Callers check the marks
	// again, because a filter may be ignored or be stale.
	List func(ctx context.Context, marks map[string]string) ([]T, error)
	// Observe returns the common attributes of an object.
	Observe func(T) Observed
	// Delete deletes an object. It waits for objects in use that are being deleted, and returns nil
	// if the object no longer exists.
	Delete func(ctx context.Context, identity string) error
}

// All returns the objects with the given marks: those in use first, then the oldest. It omits those
// whose creation failed.
func (k Kind[T]) All(ctx context.Context, marks map[string]string) ([]Live[T], error) {
	all, err := k.allMarked(ctx, marks)
	return slices.DeleteFunc(all, func(l Live[T]) bool { return l.Failed }), err
}

func (k Kind[T]) allMarked(ctx context.Context, marks map[string]string) ([]Live[T], error) {
	return k.list(ctx, marks, func(have map[string]string) bool { return len(MarkDrift(have, marks)) == 0 })
}

// allUnmarked returns the objects that have none of the given marks, with any value.
func (k Kind[T]) allUnmarked(ctx context.Context, marks map[string]string) ([]Live[T], error) {
	return k.list(ctx, marks, func(have map[string]string) bool {
		for key := range marks {
			if have[key] != "" {
				return false
			}
		}
		return true
	})
}

func (k Kind[T]) list(ctx context.Context, marks map[string]string, belongs func(marks map[string]string) bool) ([]Live[T], error) {
	items, err := k.List(ctx, marks)
	if err != nil {
		return nil, err
	}
	var out []Live[T]
	for _, item := range items {
		o := k.Observe(item)
		if !o.Deleting && belongs(o.Marks) {
			out = append(out, Live[T]{o, item})
		}
	}
	// sort.Slice, because slices.SortFunc would be instantiated for each kind and grow the binary.
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(compareBool(b.Used, a.Used), a.Created.Compare(b.Created), cmp.Compare(a.Identity, b.Identity)) < 0
	})
	return out, nil
}

// Founds returns the objects with the given marks in the form of the inventory.
func (k Kind[T]) Founds(ctx context.Context, marks map[string]string, found func(kind string, o Observed) resource.Found) ([]resource.Found, error) {
	all, err := k.allMarked(ctx, marks)
	out := make([]resource.Found, len(all))
	for i, live := range all {
		out[i] = found(k.Name, live.Observed)
	}
	return out, err
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
