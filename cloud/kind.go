// Package cloud defines errors and types common to all cloud platforms: the kind of an error, the
// failed call and resource, and the advice for the user. It makes no API calls; these are in one
// package per platform below it.
package cloud

// Kind classifies the error of a platform. Callers branch on kinds and never on a platform's error
// codes or messages. Kinds appear in JSON events, therefore they are readable words.
type Kind string

// The kinds of errors. Each platform has one table that maps its error codes to them.
const (
	// Unknown is an unclassified error. It is not retried.
	Unknown Kind = "unknown"
	// NotFound means that the object does not exist. A delete treats it as success.
	NotFound Kind = "not-found"
	// Denied means that the caller lacks a permission or valid credentials.
	Denied Kind = "denied"
	// Quota means that an account limit is exceeded. Waiting does not help; the user must request
	// an increase from the platform.
	Quota Kind = "quota"
	// NoCapacity means that the platform temporarily lacks capacity of this type in this location.
	NoCapacity Kind = "no-capacity"
	// RateLimited means that the platform throttled the call, which had no effect.
	RateLimited Kind = "rate-limited"
	// Conflict means that the object is in an unexpected state: it already exists, is in use, or
	// was modified concurrently.
	Conflict Kind = "conflict"
	// Invalid means that the request is invalid and retrying it cannot succeed.
	Invalid Kind = "invalid"
	// Ambiguous means that the response was lost: the call may or may not have had its effect. The
	// caller must query the platform to find out.
	Ambiguous Kind = "ambiguous"
	// Unavailable means that the platform is down or unreachable, and that the call had no effect.
	Unavailable Kind = "unavailable"
)

// Transient reports whether the call had no effect and the same call may succeed later without any
// change.
func (k Kind) Transient() bool {
	return k == RateLimited || k == Unavailable
}
