// Package admission decides which agents may join a master. It verifies credentials, join tokens
// and the identity of launched machines, records decisions in the audit log, and excludes revoked
// agents.
package admission

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/master/agentrm"
	"github.com/det-deploy/det-deploy/master/agentrm/link"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/token"
)

// gate admits agents with a credential or join token that master/auth accepts, and launched
// machines that prove their identity.
type gate struct {
	auth     *auth.Auth
	launches auth.Launches
}

var _ agentrm.Gate = gate{}

// Admit implements agentrm.Gate.
func (g gate) Admit(ctx context.Context, p agentrm.JoinProof) (agentrm.Identity, error) {
	launched := p.Proof.Kind != "" || g.auth.IsMachine(string(p.Agent), g.launches)
	in, err := g.admitPeer(ctx, p, launched)
	if err == nil {
		return agentrm.Identity{Agent: p.Agent, Pool: in.Pool, Launched: launched, Accept: func(ctx context.Context) (token.Text, error) {
			credential, err := in.Accept(ctx)
			return credential, refusalOf(err, launched)
		}}, nil
	}
	return agentrm.Identity{}, refusalOf(err, launched)
}

// refusalOf converts an error to the refusal that the agent receives. It returns other errors
// unchanged.
func refusalOf(err error, launched bool) error {
	if unwanted, ok := errors.AsType[*auth.UnwantedError](err); ok {
		return &link.Refused{Reason: unwanted.Error(), Final: true, Unwanted: true}
	}
	if errors.Is(err, auth.ErrNotLaunched) {
		return &link.Refused{Reason: err.Error(), Unwanted: true}
	}
	if _, ok := errors.AsType[*auth.RevokedError](err); ok {
		return &link.Refused{Reason: err.Error(), Final: true, Revoked: true, Unwanted: launched}
	}
	switch status.Of(err) {
	case status.Unauthenticated:
		// A join token may still be valid where a credential is not.
		return &link.Refused{Reason: err.Error(), Rejoin: true}
	case status.PermissionDenied:
		return &link.Refused{Reason: err.Error(), Final: true}
	default:
		return err
	}
}

// admitPeer verifies the one kind of proof that counts for an agent. A launched machine that has a
// credential must use it, because the credential may have been revoked.
func (g gate) admitPeer(ctx context.Context, p agentrm.JoinProof, launched bool) (auth.Admission, error) {
	switch {
	case !launched:
		return g.auth.Admit(auth.Arrival{
			Agent: string(p.Agent), Pool: p.Pool, Credential: p.Credential, JoinToken: p.JoinToken,
		})
	case p.Credential != "":
		return g.auth.AdmitKnownMachine(string(p.Agent), p.Credential, g.launches)
	case p.Proof.Kind != "":
		return g.auth.AdmitMachine(ctx, string(p.Agent), p.Proof, g.launches)
	default:
		return auth.Admission{}, &auth.UnwantedError{Agent: string(p.Agent), Reason: "a launched machine has this ID, and join tokens are for static agents"}
	}
}
