package agentrm

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// Gate decides which agents may connect, and as whom.
type Gate interface {
	// Admit checks what an agent brings and changes nothing: the agent may not be
	// able to connect now, for another one of its name is connected. It is asked on
	// every connection. The error is a *Refused if the agent is to be told why; any
	// other error makes the agent try again later and is only logged.
	Admit(ctx context.Context, p JoinProof) (Identity, error)
}

// JoinProof is what an agent brings to be admitted.
type JoinProof struct {
	Agent    rm.AgentID
	Pool     string
	Hostname string
	// Address is where the connection comes from.
	Address string
	// Credential is what an earlier admission gave it, JoinToken what it brings
	// the first time, and Proof what a launched machine does instead. Any may be
	// empty.
	Credential token.Text
	JoinToken  token.Text
	Proof      cloud.Proof
}

// Identity is who an admitted agent is.
type Identity struct {
	Agent rm.AgentID
	// Pool is where it belongs; empty leaves the choice to the agent.
	Pool string
	// Launched says that the agent's machine was launched, and bears its id.
	Launched bool
	// Accept is called when the agent has its place, and lets it in: the credential
	// replaces the one that the agent has, unless empty. The error is as Admit's. It
	// may be nil.
	Accept func(ctx context.Context) (token.Text, error)
}

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

// refuseRetry makes a refusal that is worth another try.
func refuseRetry(format string, args ...any) *Refused {
	return &Refused{Reason: excerpt.Format(format, args...)}
}

// refuseFinal makes one that is not.
func refuseFinal(format string, args ...any) *Refused {
	return &Refused{Reason: excerpt.Format(format, args...), Final: true}
}
