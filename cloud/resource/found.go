package resource

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// Found is a live object that carries a cluster's mark.
type Found struct {
	// Kind is the platform's term for the object: "subnet".
	Kind string `json:"kind"`
	// ID is the platform's ID: "subnet-0ab1".
	ID string `json:"id"`
	// Name is the display name: "agents-a".
	Name string `json:"name,omitempty"`
	// Retain is the reason why `down` retains the object ("holds the checkpoints"), or empty if
	// `down` deletes it. A secret is retained as long as the data that requires it.
	Retain string `json:"retain,omitempty"`
	// Launched reports whether the running cluster created the object itself, such as an agent's
	// machine. `up` ignores such objects, `down` deletes them.
	Launched bool `json:"launched,omitempty"`
	// Shared reports whether the object is also used outside the cluster. `up` creates it if it is
	// missing; `down` does not delete it.
	Shared bool `json:"shared,omitempty"`
	// Apart reports whether the object may be in use by others, as a subnet is by another owner's
	// instance. Its deletion may never complete; only the deletion of other Apart objects waits for
	// it.
	Apart bool `json:"-"`
	// Nonce is the nonce under which the object was created, if any.
	Nonce string `json:"-"`
}

// Exists reports whether f is non-zero. Find returns the zero value if there is no object.
func (f Found) Exists() bool { return f.ID != "" }

// Key returns a key that identifies the object.
func (f Found) Key() string { return f.Kind + "/" + f.ID }

// String formats the object for display: "subnet agents-a (subnet-0ab1)".
func (f Found) String() string {
	if f.Name == "" || f.Name == f.ID {
		return f.Kind + " " + f.ID
	}
	return f.Kind + " " + f.Name + " (" + f.ID + ")"
}

// Target is a platform that can list the objects of a cluster.
type Target interface {
	// Inventory returns all live objects that carry the cluster's mark, including those created by
	// other tools. It reads all pages, checks the marks again after filtering on the server, and
	// changes nothing.
	Inventory(ctx context.Context, cluster string) ([]Found, error)

	// Kinds returns all kinds of the inventory, dependencies first. Deletion uses the reverse
	// order.
	Kinds() []string

	// Remove deletes an object of the inventory. It returns nil if the object no longer exists.
	Remove(ctx context.Context, f Found) error
}

// Sort sorts fs by kind, name and ID, so that the order of lists is stable.
func Sort(fs []Found) {
	slices.SortFunc(fs, func(a, b Found) int {
		return cmp.Or(
			strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.ID, b.ID),
		)
	})
}
