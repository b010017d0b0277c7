// Package resource is the engine's vocabulary: what det-deploy can own, how it
// is looked at, created and removed, and how a platform tells everything that
// belongs to a cluster. Platforms implement it; plan and apply use it.
package resource

import "context"

// Resource is one thing det-deploy can own: a network, a role, a process. It is
// a small value that says what is wanted. The only thing about it that changes
// after construction is the identity it learns in Find or Create, which other
// resources read: a subnet points at its network.
//
// Calls on one resource never overlap. Calls on different resources do, but
// never before those of its Needs have returned.
type Resource interface {
	// ID names the resource for people and for Needs: "aws/subnet/agents-a".
	// It is unique within a cluster and the same in every run.
	ID() string

	// Kind is the word under which the platform's inventory lists it:
	// "subnet".
	Kind() string

	// Needs lists the IDs that must exist before this one can.
	Needs() []string

	// Find looks at the live object, learns its identity and must not change
	// it. It uses the mark or the deterministic name, never a remembered
	// identity. When there is none, or what it needs is not there yet, Found
	// is zero and so is the drift. Drift has one entry per attribute that is
	// not as wanted, in a stable order, and never shows a secret.
	Find(ctx context.Context) (Found, []Drift, error)

	// Create makes the object, marked as the cluster's in the same call. It is
	// called after Find returned none, must tolerate losing that race,
	// and may be called again after an ambiguous answer: a second call with
	// the object in place is a success.
	Create(ctx context.Context) error

	// Delete removes the object. Deleting what is already gone is not an
	// error, so it may be repeated. It returns when the object is gone, or
	// when nothing that needs it is held up any longer.
	Delete(ctx context.Context) error
}

// Updater is implemented by resources that can be changed in place. Drift in
// any other resource is replaced where the drift says so, and otherwise refused
// rather than repaired by force.
type Updater interface {
	// Update brings the attributes named in drift to what is wanted. It may be
	// repeated.
	Update(ctx context.Context, drift []Drift) error
}

// Nonced is implemented by resources without a name of their own on the
// platform: asking twice makes two. They are created under a nonce that was
// written down before the call, so that a lost reply can be told from a lost
// request.
type Nonced interface {
	// CreateOnce is Create under nonce: the idempotency token where the API
	// takes one, otherwise a tag put on by the very call that creates. The
	// platform's client must not retry it by itself after an ambiguous error.
	// Where it takes several calls, a failure after the first is a PartialError.
	CreateOnce(ctx context.Context, nonce string) error

	// Made lists the live objects that carry nonce: those in use first, then
	// the oldest. What is on its way out is not listed.
	Made(ctx context.Context, nonce string) ([]Found, error)
}

// Intent is what is remembered about the creation of a Nonced resource.
type Intent struct {
	// Nonce is random and belongs to one object.
	Nonce string
	// Tried is true when an earlier attempt may have used the nonce.
	Tried bool
	// Made is true when that attempt is known to have succeeded.
	Made bool
}

// PartialError is a creation that made its object and failed afterwards: what is
// still to do shows as drift. However definite the refusal, the nonce is used.
type PartialError struct{ Err error }

// Partial marks what failed after the object was made; nil stays nil.
func Partial(err error) error {
	if err == nil {
		return nil
	}
	return &PartialError{err}
}

// Error is the failure itself.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap gives the failure itself.
func (e *PartialError) Unwrap() error { return e.Err }

// Drift is one attribute that is not as wanted.
type Drift struct {
	// Path names the attribute: "ingress[8080]".
	Path string `json:"path"`
	// Have is what the live object says.
	Have string `json:"have"`
	// Want is what was asked for.
	Want string `json:"want"`
	// Replace is true when the platform cannot change it on a live object.
	Replace bool `json:"replace,omitempty"`
}
