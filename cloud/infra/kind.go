package infra

import (
	"cmp"
	"context"
	"sort"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Observed is what is read off a live object, whatever its kind.
type Observed struct {
	// Identity is what the platform calls it.
	Identity string
	// Marks are its tags or labels, or what its description says where a kind has none.
	Marks map[string]string
	// Deleting is true for what is on its way out, and so is not listed.
	Deleting bool
	// Used is true for what something else depends on.
	Used bool
	// Blank is true for a disk that no machine has ever had: nothing is written on it.
	Blank   bool
	Created time.Time
}

// Live is a live object and what was read off it.
type Live[T any] struct {
	Observed

	Object T
}

// Kind is one kind of a platform's objects that carry marks. A platform whose objects
// have names of their own may list one by its name.
type Kind[T any] struct {
	// Name is the word of the inventory: "subnet".
	Name string
	// List lists those with all of the marks, to the last page. What it returns is
	// checked again: a filter may be ignored, or lag.
	List func(ctx context.Context, marks map[string]string) ([]T, error)
	// Observe reads an object.
	Observe func(T) Observed
	// Delete removes one, and waits for what uses it and is on its way out. One that is
	// gone is no error.
	Delete func(ctx context.Context, identity string) error
}

// All lists the objects that carry the marks: those in use first, then the oldest.
func (k Kind[T]) All(ctx context.Context, marks map[string]string) ([]Live[T], error) {
	items, err := k.List(ctx, marks)
	if err != nil {
		return nil, err
	}
	var out []Live[T]
	for _, item := range items {
		o := k.Observe(item)
		if !o.Deleting && len(MarkDrift(o.Marks, marks)) == 0 {
			out = append(out, Live[T]{o, item})
		}
	}
	// Not slices.SortFunc, which would be in the program once more for each kind of objects.
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(compareBool(b.Used, a.Used), a.Created.Compare(b.Created), cmp.Compare(a.Identity, b.Identity)) < 0
	})
	return out, nil
}

// Founds lists the objects that carry the marks as the inventory shows them.
func (k Kind[T]) Founds(ctx context.Context, marks map[string]string, found func(kind string, o Observed) resource.Found) ([]resource.Found, error) {
	all, err := k.All(ctx, marks)
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
