package agentrm

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// Gate decides which agents may connect, and as whom.
type Gate interface {
	// Admit checks what an agent brings and changes nothing: the agent may not be
	// able to connect now, for another one of its name is connected. It is asked on
	// every connection. The error is a *link.Refused if the agent is to be told why; any
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
