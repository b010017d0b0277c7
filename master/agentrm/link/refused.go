package link

import "github.com/det-deploy/det-deploy/internal/excerpt"

// Refused is the reason why an agent may not connect.
type Refused struct {
	Reason string
	// Final means that a retry will fail until a person acts.
	Final bool
	// Rejoin means that a join token may succeed where the credential did not.
	Rejoin bool
	// Unwanted means that a launched machine is no longer needed.
	Unwanted bool
	// Revoked means that an administrator also wants the agent's tasks ended.
	Revoked bool
}

// Error returns the sentence that the agent receives.
func (r *Refused) Error() string { return r.Reason }

// Retry returns a refusal after which the agent retries.
func Retry(format string, args ...any) *Refused {
	return &Refused{Reason: excerpt.Format(format, args...)}
}

// Final returns a refusal after which the agent does not retry.
func Final(format string, args ...any) *Refused {
	return &Refused{Reason: excerpt.Format(format, args...), Final: true}
}
