package agentrm

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// Gate decides which agents may connect, and as which agent.
type Gate interface {
	// Admit checks an agent's proof without changing anything, because the agent may still be refused if
	// another agent of its name is connected. It is called for every connection. It returns a
	// *link.Refused if the agent should receive the reason; after any other error, which is only logged,
	// the agent retries later.
	Admit(ctx context.Context, p JoinProof) (Identity, error)
}

// JoinProof is the information with which an agent requests admission.
type JoinProof struct {
	Agent    rm.AgentID
	Pool     string
	Hostname string
	// Address is the remote address of the connection.
	Address string
	// Credential is the one that an earlier admission issued, JoinToken the token for the first
	// admission, and Proof that of a launched machine. Any may be empty.
	Credential token.Text
	JoinToken  token.Text
	Proof      cloud.Proof
}

// Identity is the identity of an admitted agent.
type Identity struct {
	Agent rm.AgentID
	// Pool is the agent's pool; empty leaves the choice to the agent.
	Pool string
	// Launched reports that the master launched the agent's machine, which has the same id.
	Launched bool
	// Accept is called when the agent's place is reserved, and completes the admission. It returns the
	// credential that replaces the agent's, or "" to keep it. Its errors are like those of Admit. It may
	// be nil.
	Accept func(ctx context.Context) (token.Text, error)
}
