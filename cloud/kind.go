// Package cloud is the vocabulary in which every platform refuses: what kind of
// refusal it was, of which call on which resource, and what the user can do
// about it. It holds words only; the calls live below it, one package a platform.
package cloud

// Kind says why a platform did not do what it was asked. Callers branch on
// kinds and never on a platform's own codes or texts. Kinds are spelled out
// because they are shown in JSON events.
type Kind string

// The kinds of refusal. A platform translates its codes into these once, from a
// table, at its edge.
const (
	// Unknown is an error without a classification. It is not retried.
	Unknown Kind = "unknown"
	// NotFound means that the object does not exist. For a delete it means done.
	NotFound Kind = "not-found"
	// Denied means that the caller is known and may not do this.
	Denied Kind = "denied"
	// Quota means that a limit of the account stands in the way. Waiting does
	// not help, a request to the platform does.
	Quota Kind = "quota"
	// NoCapacity means that the platform has none of this to give at the
	// moment, in this place.
	NoCapacity Kind = "no-capacity"
	// RateLimited means that the call came too soon after others and had no
	// effect.
	RateLimited Kind = "rate-limited"
	// Conflict means that the object is in another state than the call
	// expected: it exists already, is in use, or another caller changed it.
	Conflict Kind = "conflict"
	// Invalid means that the request itself is wrong and will stay wrong.
	Invalid Kind = "invalid"
	// Ambiguous means that the reply was lost: the call may have had its effect
	// or not. Only a look at the platform can tell.
	Ambiguous Kind = "ambiguous"
	// Unavailable means that the platform is out of order or out of reach, and
	// that the call had no effect.
	Unavailable Kind = "unavailable"
)

// Transient reports whether the same call may succeed later without anybody
// changing anything, and is known to have had no effect so far.
func (k Kind) Transient() bool {
	return k == RateLimited || k == Unavailable
}
