package resource

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// Found is one live object that carries a cluster's mark.
type Found struct {
	// Kind is the platform's word for it: "subnet".
	Kind string `json:"kind"`
	// ID is its identity on the platform: "subnet-0ab1".
	ID string `json:"id"`
	// Name is what a person calls it: "agents-a".
	Name string `json:"name,omitempty"`
	// Retain is why it outlives `down`, in words for the receipt ("holds the
	// checkpoints"), or empty when it does not. A secret is retained as long as
	// the data that it opens.
	Retain string `json:"retain,omitempty"`
	// Launched is true for what the running cluster made by itself, such as an
	// agent's machine. It is no business of `up`, and goes with `down`.
	Launched bool `json:"launched,omitempty"`
	// Shared is true for what the cluster uses and others do too: it is made where it is
	// missing, and no business of `down`.
	Shared bool `json:"shared,omitempty"`
	// Apart is true for what others may still use, as a machine of another owner uses a
	// subnet. Its deletion may take for ever, and only that of what is Apart too waits for it.
	Apart bool `json:"-"`
	// Nonce is the mark of the call that made it, where there is one.
	Nonce string `json:"-"`
}

// Exists is false for the zero value, which Find returns when there is nothing.
func (f Found) Exists() bool { return f.ID != "" }

// Key is the same for two sightings of one object and for no two objects.
func (f Found) Key() string { return f.Kind + "/" + f.ID }

// String is how a person reads it: "subnet agents-a (subnet-0ab1)".
func (f Found) String() string {
	if f.Name == "" || f.Name == f.ID {
		return f.Kind + " " + f.ID
	}
	return f.Kind + " " + f.Name + " (" + f.ID + ")"
}

// Target is a platform that can tell what belongs to a cluster.
type Target interface {
	// Inventory lists every live object that carries the mark of cluster,
	// also those that another tool made. It pages to the end, checks the mark again on what a
	// server-side filter returned, and changes nothing.
	Inventory(ctx context.Context, cluster string) ([]Found, error)

	// Kinds lists every kind the inventory can return, those that others need
	// first. Deleting goes the other way.
	Kinds() []string

	// Remove deletes one object of the inventory. Removing what is already
	// gone is not an error.
	Remove(ctx context.Context, f Found) error
}

// Sort orders fs by kind, name and ID, so that lists read the same every time.
func Sort(fs []Found) {
	slices.SortFunc(fs, func(a, b Found) int {
		return cmp.Or(
			strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.ID, b.ID),
		)
	})
}
