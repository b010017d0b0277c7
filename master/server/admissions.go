package server

import (
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// admissionRoutes are ours; Determined 0.38.1 admits any agent.
// admissionCalls is which machines may be agents.
type admissionCalls struct{ *shared }

func (a *admissionCalls) routes() []route {
	if a.cfg.Admissions == nil {
		return nil
	}
	return []route{
		auditedRoute("agent.revoke", postRoute("agents/{agent}/revoke", admin, plainCall(a.revoke))),
		auditedRoute("agent.admit", postRoute("agents/{agent}/admit", admin, plainCall(a.readmit))),
		getRoute("revoked-agents", admin, plainCall(a.revokedAgents)),
		getRoute("join-tokens", admin, plainCall(a.joinTokens)),
		auditedRoute("join_token.create", postRoute("join-tokens", admin, unaryCall(a.createJoinToken))),
		auditedRoute("join_token.revoke", route{method: http.MethodPost, path: "join-tokens/revoke", access: admin, endpoint: unaryCall(a.revokeJoinToken)}),
		auditedRoute("keys.rotate", postRoute("master/rotate-keys", admin, plainCall(a.rotateKeys))),
	}
}

func (a *admissionCalls) revoke(c *call) (*emptypb.Empty, error) {
	a.cfg.Log.Warn("agent is revoked", "agent_id", c.PathValue("agent"), "user", c.user.GetUsername())
	return &emptypb.Empty{}, a.cfg.Admissions.Revoke(c.Context(), c.PathValue("agent"), c.user.GetUsername())
}

func (a *admissionCalls) readmit(c *call) (*emptypb.Empty, error) {
	a.cfg.Log.Warn("agent may join again", "agent_id", c.PathValue("agent"), "user", c.user.GetUsername())
	return &emptypb.Empty{}, a.cfg.Admissions.Readmit(c.Context(), c.PathValue("agent"))
}

func (a *admissionCalls) revokedAgents(*call) (*apiv1.GetRevokedAgentsResponse, error) {
	return &apiv1.GetRevokedAgentsResponse{Agents: a.cfg.Admissions.Revoked()}, nil
}

func (a *admissionCalls) joinTokens(*call) (*apiv1.GetJoinTokensResponse, error) {
	return &apiv1.GetJoinTokensResponse{JoinTokens: a.cfg.Admissions.JoinTokens()}, nil
}

// maxJoinLife is the longest time for which a join token may be good.
const maxJoinLife = 10 * 365 * 24 * time.Hour

func (a *admissionCalls) createJoinToken(c *call, in *apiv1.CreateJoinTokenRequest) (*apiv1.CreateJoinTokenResponse, error) {
	if n := in.GetValidForSeconds(); n <= 0 || n > int64(maxJoinLife/time.Second) {
		return nil, status.New(status.InvalidArgument, "valid_for_seconds: must be 1 to %d (%d)", int64(maxJoinLife/time.Second), n)
	}
	if a.cfg.Queue != nil && !a.hasPool(in.GetResourcePool()) {
		return nil, status.Missing("resource pool", in.GetResourcePool())
	}
	out, err := a.cfg.Admissions.CreateJoinToken(c.Context(), in, c.user.GetUsername())
	c.noteTarget(out.GetJoinToken().GetId(), "for resource pool", in.GetResourcePool())
	if err == nil {
		a.cfg.Log.Info("join token is created", "token_id", out.GetJoinToken().GetId(), "pool", in.GetResourcePool(), "uses", in.GetUses(), "user", c.user.GetUsername())
	}
	return out, err
}

func (a *admissionCalls) hasPool(name string) bool {
	for _, p := range a.cfg.Queue.PoolSettings() {
		if p.Name == name {
			return true
		}
	}
	return false
}

func (a *admissionCalls) revokeJoinToken(c *call, in *apiv1.RevokeJoinTokenRequest) (*apiv1.RevokeJoinTokenResponse, error) {
	j, err := a.cfg.Admissions.RevokeJoinToken(c.Context(), in.GetToken(), c.user.GetUsername())
	c.noteTarget(j.GetId())
	if err == nil {
		a.cfg.Log.Warn("join token is revoked", "token_id", j.GetId(), "user", c.user.GetUsername())
	}
	return &apiv1.RevokeJoinTokenResponse{JoinToken: j}, err
}

func (a *admissionCalls) rotateKeys(c *call) (*emptypb.Empty, error) {
	a.cfg.Log.Warn("the keys of join tokens and credentials are rotated", "user", c.user.GetUsername())
	return &emptypb.Empty{}, a.cfg.Admissions.RotateKeys(c.Context())
}
