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

// auditedGate records the agents that join and those that are refused. One that
// comes back with its credential is not recorded.
type auditedGate struct {
	gate
	log *audit.Log
}

var _ agentrm.Gate = auditedGate{}

// NewGate admits those that users and launches vouch for, and records who joins.
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
					Details: shownBy(p) + " for resource pool " + id.Pool,
				})
			}
			return credential, err
		}
	}
	return id, nil
}

// recordRefusal records a refusal, and nothing where the master could not judge.
func (g auditedGate) recordRefusal(ctx context.Context, p agentrm.JoinProof, err error) {
	if _, ok := errors.AsType[*link.Refused](err); !ok {
		return
	}
	g.log.Record(ctx, &apiv1.AuditEntry{
		Action: "agent.join", Target: string(p.Agent), Address: p.Address, Outcome: audit.Refused, Details: shownBy(p),
	})
}

// shownBy says what an agent came with, not what that is.
func shownBy(p agentrm.JoinProof) string {
	switch {
	case p.Credential != "":
		return "by its credential"
	case p.Proof.Kind != "":
		return "by a proof of its machine"
	case p.JoinToken != "":
		return "by a join token"
	default:
		return "by nothing"
	}
}
