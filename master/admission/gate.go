// Package admission decides which agents join a master: by what users and launches vouch
// for, recorded in the audit log, until an administrator revokes them.
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

// gate admits agents by the credentials that master/auth knows, and launched machines
// by what they prove.
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

// refusalOf says what an agent is told of an error, if anything.
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
		// A join token may still be good where a credential is not.
		return &link.Refused{Reason: err.Error(), Rejoin: true}
	case status.PermissionDenied:
		return &link.Refused{Reason: err.Error(), Final: true}
	default:
		return err
	}
}

// admitPeer asks for the one kind of paper that is good for who comes. A machine that
// shows both has a credential that may have been withdrawn.
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
