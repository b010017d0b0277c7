// Package resource defines the interfaces of the engine: resources that det-deploy manages, how to
// find, create and delete them, and the inventory of a cluster. Platforms implement them; plan and
// apply use them.
package resource

import "context"

// Resource is an object that det-deploy manages: a network, a role, a process. It is a small value
// that describes the wanted object. It is immutable except for the identity that it learns in Find
// or Create and that other resources read: a subnet refers to its network.
//
// Calls on one resource never overlap. Calls on different resources may, but only after those of
// its Needs have returned.
type Resource interface {
	// ID returns the name of the resource: "aws/subnet/agents-a". It is unique within a cluster and
	// the same in every run.
	ID() string

	// Kind returns the kind under which the platform's inventory lists the object: "subnet".
	Kind() string

	// Needs returns the IDs of resources that must exist first.
	Needs() []string

	// Find finds the live object by its mark or deterministic name, never by a remembered identity,
	// and learns its identity. It must not modify the object. It returns zero values if there is no
	// object or a needed resource does not exist yet. Drift has one entry per attribute that
	// differs from the wanted value, in a stable order, and never contains a secret.
	Find(ctx context.Context) (Found, []Drift, error)

	// Create creates the object, with the cluster's mark set in the same call. It is called after
	// Find returned no object, must tolerate a concurrent creation, and may be called again after
	// an ambiguous error: it returns nil if the object exists.
	Create(ctx context.Context) error

	// Delete deletes the object. It returns nil if the object no longer exists, so it may be
	// repeated. It returns when the object is gone, or when it no longer blocks the deletion of
	// other objects.
	Delete(ctx context.Context) error
}

// Updater is implemented by resources that can be changed in place. Drift of any other resource
// requires a replacement if the drift permits it; otherwise the plan fails, because det-deploy
// makes no forced repairs.
type Updater interface {
	// Update sets the attributes in drift to the wanted values. It may be repeated.
	Update(ctx context.Context, drift []Drift) error
}

// Nonced is implemented by resources without a unique name on the platform, where a second call
// creates a second object. They are created under a nonce that is recorded before the call, so that
// a lost response can be distinguished from a lost request.
type Nonced interface {
	// CreateOnce creates the object under a nonce: the idempotency token if the API has one,
	// otherwise a tag set by the creating call. The platform's client must not retry the call after
	// an ambiguous error. If the creation takes several calls, a failure after the first is
	// returned as a PartialError.
	CreateOnce(ctx context.Context, nonce string) error

	// Made returns the live objects that carry the nonce: those in use first, then the oldest. It
	// omits objects that are being deleted.
	Made(ctx context.Context, nonce string) ([]Found, error)
}

// Intent records the creation of a Nonced resource.
type Intent struct {
	// Nonce is random and unique to one object.
	Nonce string
	// Tried reports whether an earlier attempt may have used the nonce.
	Tried bool
	// Made reports whether that attempt is known to have succeeded.
	Made bool
}

// PartialError is returned if the object was created and a later call failed. The remaining changes
// appear as drift. The nonce counts as used, whatever the kind of the error.
type PartialError struct{ Err error }

// Partial wraps an error that occurred after the object was created. It returns nil for nil.
func Partial(err error) error {
	if err == nil {
		return nil
	}
	return &PartialError{err}
}

// Error returns the text of the wrapped error.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *PartialError) Unwrap() error { return e.Err }

// Drift is an attribute that differs from its wanted value.
type Drift struct {
	// Path is the path of the attribute: "ingress[8080]".
	Path string `json:"path"`
	// Have is the live value.
	Have string `json:"have"`
	// Want is the wanted value.
	Want string `json:"want"`
	// Replace reports whether the platform cannot change the attribute of a live object.
	Replace bool `json:"replace,omitempty"`
	// Digest tells differences of contents apart that are not shown. It is compared, never printed.
	Digest string `json:"-"`
}
