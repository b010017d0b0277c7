package wire

import (
	"context"

	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/auth"
)

// gate lets agents in by the papers that master/auth knows.
type gate struct{ auth *auth.Auth }

var _ agentrm.Gate = gate{}

// Admit implements agentrm.Gate.
func (g gate) Admit(ctx context.Context, p agentrm.JoinProof) (agentrm.Identity, error) {
	in, err := g.auth.Admit(ctx, auth.Arrival{
		Agent: string(p.Agent), Pool: p.Pool, Credential: p.Credential, JoinToken: p.JoinToken,
	})
	if err == nil {
		return agentrm.Identity{Agent: p.Agent, Pool: in.Pool, Credential: in.Credential}, nil
	}
	switch status.Of(err) {
	case status.Unauthenticated:
		// A join token may still be good where a credential is not.
		return agentrm.Identity{}, &agentrm.Refused{Reason: err.Error(), Rejoin: true}
	case status.PermissionDenied:
		return agentrm.Identity{}, &agentrm.Refused{Reason: err.Error(), Final: true}
	default:
		return agentrm.Identity{}, err
	}
}
