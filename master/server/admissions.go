package server

import (
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// admissionRoutes are ours; Determined 0.38.1 lets in any agent.
func admissionRoutes() []route {
	return []route{
		audited("agent.revoke", post("agents/{agent}/revoke", admin, plain((*Server).revoke))),
		audited("agent.admit", post("agents/{agent}/admit", admin, plain((*Server).readmit))),
		get("revoked-agents", admin, plain((*Server).revokedAgents)),
		get("join-tokens", admin, plain((*Server).joinTokens)),
		audited("join_token.create", post("join-tokens", admin, unary((*Server).createJoinToken))),
		audited("join_token.revoke", route{method: http.MethodPost, path: "join-tokens/revoke", access: admin, endpoint: unary((*Server).revokeJoinToken)}),
		audited("keys.rotate", post("master/rotate-keys", admin, plain((*Server).rotateKeys))),
	}
}

func (s *Server) revoke(c *call) (*emptypb.Empty, error) {
	s.cfg.Log.Warn("agent is revoked", "agent_id", c.PathValue("agent"), "user", c.user.GetUsername())
	return &emptypb.Empty{}, s.cfg.Admissions.Revoke(c.Context(), c.PathValue("agent"), c.user.GetUsername())
}

func (s *Server) readmit(c *call) (*emptypb.Empty, error) {
	s.cfg.Log.Warn("agent may join again", "agent_id", c.PathValue("agent"), "user", c.user.GetUsername())
	return &emptypb.Empty{}, s.cfg.Admissions.Readmit(c.Context(), c.PathValue("agent"))
}

func (s *Server) revokedAgents(*call) (*apiv1.GetRevokedAgentsResponse, error) {
	return &apiv1.GetRevokedAgentsResponse{Agents: s.cfg.Admissions.Revoked()}, nil
}

func (s *Server) joinTokens(*call) (*apiv1.GetJoinTokensResponse, error) {
	return &apiv1.GetJoinTokensResponse{JoinTokens: s.cfg.Admissions.JoinTokens()}, nil
}

// maxJoinLife is the longest time for which a join token may be good.
const maxJoinLife = 10 * 365 * 24 * time.Hour

func (s *Server) createJoinToken(c *call, in *apiv1.CreateJoinTokenRequest) (*apiv1.CreateJoinTokenResponse, error) {
	if n := in.GetValidForSeconds(); n <= 0 || n > int64(maxJoinLife/time.Second) {
		return nil, status.New(status.InvalidArgument, "valid_for_seconds: must be 1 to %d (%d)", int64(maxJoinLife/time.Second), n)
	}
	if s.cfg.Queue != nil && !s.hasPool(in.GetResourcePool()) {
		return nil, status.Missing("resource pool", in.GetResourcePool())
	}
	out, err := s.cfg.Admissions.CreateJoinToken(c.Context(), in, c.user.GetUsername())
	c.did(out.GetJoinToken().GetId(), "for resource pool", in.GetResourcePool())
	if err == nil {
		s.cfg.Log.Info("join token is created", "token_id", out.GetJoinToken().GetId(), "pool", in.GetResourcePool(), "uses", in.GetUses(), "user", c.user.GetUsername())
	}
	return out, err
}

func (s *Server) hasPool(name string) bool {
	for _, p := range s.cfg.Queue.Pools() {
		if p.GetName() == name {
			return true
		}
	}
	return false
}

func (s *Server) revokeJoinToken(c *call, in *apiv1.RevokeJoinTokenRequest) (*apiv1.RevokeJoinTokenResponse, error) {
	j, err := s.cfg.Admissions.RevokeJoinToken(c.Context(), in.GetToken(), c.user.GetUsername())
	c.did(j.GetId())
	if err == nil {
		s.cfg.Log.Warn("join token is revoked", "token_id", j.GetId(), "user", c.user.GetUsername())
	}
	return &apiv1.RevokeJoinTokenResponse{JoinToken: j}, err
}

func (s *Server) rotateKeys(c *call) (*emptypb.Empty, error) {
	s.cfg.Log.Warn("the keys of join tokens and credentials are rotated", "user", c.user.GetUsername())
	return &emptypb.Empty{}, s.cfg.Admissions.RotateKeys(c.Context())
}
