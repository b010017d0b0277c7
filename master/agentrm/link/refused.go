package link

import "github.com/det-deploy/det-deploy/internal/excerpt"

// Refused says why an agent may not connect.
type Refused struct {
	Reason string
	// Final means that trying again will not help until a person acts.
	Final bool
	// Rejoin means that a join token may help where the credential did not.
	Rejoin bool
	// Unwanted means that a machine which was launched has no reason to go on.
	Unwanted bool
	// Revoked means that an administrator wants the agent's tasks ended as well.
	Revoked bool
}

// Error is the sentence that the agent is told.
func (r *Refused) Error() string { return r.Reason }

// Retry makes a refusal that is worth another try.
func Retry(format string, args ...any) *Refused {
	return &Refused{Reason: excerpt.Format(format, args...)}
}

// Final makes a refusal that is not.
func Final(format string, args ...any) *Refused {
	return &Refused{Reason: excerpt.Format(format, args...), Final: true}
}
