package admission

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/token"
)

// auditedGate records each admission and refusal of an agent. It does not record agents that
// reconnect with their credentials.
type auditedGate struct {
	gate
	log *audit.Log
}

var _ agentrm.Gate = auditedGate{}

// NewGate returns a gate that admits agents with credentials or join tokens and launched machines,
// and records who joins.
func NewGate(users *auth.Auth, launches auth.Launches, log *audit.Log) agentrm.Gate {
	return auditedGate{gate{users, launches}, log}
}

// Admit implements agentrm.Gate.
func (g auditedGate) Admit(ctx context.Context, p agentrm.JoinProof) (agentrm.Identity, error) {
	id, err := g.gate.Admit(ctx, p)
	if err != nil {
		g.recordRefusal(ctx, p, err)
		return id, err
	}
	if accept := id.Accept; accept != nil {
		id.Accept = func(ctx context.Context) (token.Text, error) {
			credential, err := accept(ctx)
			switch {
			case err != nil:
				g.recordRefusal(ctx, p, err)
			case credential != "":
				g.log.Record(ctx, &apiv1.AuditEntry{
					Action: "agent.join", Target: string(p.Agent), Address: p.Address, Outcome: audit.Done,
					Details: proofKind(p) + " for resource pool " + id.Pool,
				})
			}
			return credential, err
		}
	}
	return id, nil
}

// recordRefusal records a refusal. It ignores other errors, where the master could not decide.
func (g auditedGate) recordRefusal(ctx context.Context, p agentrm.JoinProof, err error) {
	if _, ok := errors.AsType[*link.Refused](err); !ok {
		return
	}
	g.log.Record(ctx, &apiv1.AuditEntry{
		Action: "agent.join", Target: string(p.Agent), Address: p.Address, Outcome: audit.Refused, Details: proofKind(p),
	})
}

// proofKind returns the kind of proof that an agent presented, not the proof.
func proofKind(p agentrm.JoinProof) string {
	switch {
	case p.Credential != "":
		return "with its credential"
	case p.Proof.Kind != "":
		return "with a proof of identity"
	case p.JoinToken != "":
		return "with a join token"
	default:
		return "without a credential"
	}
}
