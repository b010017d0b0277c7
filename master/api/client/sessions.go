package client

import (
	"context"
	"net/http"

	"github.com/det-deploy/det-deploy/master/api/password"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// sessions are the calls about the session and the master.
type sessions struct{ *transport }

// Login exchanges a user's password for a session token.
func (s sessions) Login(ctx context.Context, username, secret string) (*apiv1.LoginResponse, error) {
	out := &apiv1.LoginResponse{}
	return out, s.do(ctx, call{
		op: "log in as " + username, method: http.MethodPost, path: "/api/v1/auth/login",
		in:  &apiv1.LoginRequest{Username: username, Password: password.Hash(secret), IsHashed: true},
		out: out,
	})
}

// Logout ends the session of the client's token.
func (s sessions) Logout(ctx context.Context) error {
	return s.do(ctx, call{op: "log out", method: http.MethodPost, path: "/api/v1/auth/logout"})
}

// Me returns the user of the client's token.
func (s sessions) Me(ctx context.Context) (*apiv1.User, error) {
	out := &apiv1.CurrentUserResponse{}
	err := s.do(ctx, call{op: "get the current user", method: http.MethodGet, path: "/api/v1/me", out: out})
	return out.GetUser(), err
}

// Master returns the name, version and IDs of the master. It needs no token.
func (s sessions) Master(ctx context.Context) (*apiv1.GetMasterResponse, error) {
	out := &apiv1.GetMasterResponse{}
	return out, s.do(ctx, call{op: "get the master's version", method: http.MethodGet, path: "/api/v1/master", out: out})
}

// MasterConfig returns the master's configuration with redacted secrets. It requires an
// administrator.
func (s sessions) MasterConfig(ctx context.Context) (*apiv1.GetMasterConfigResponse, error) {
	out := &apiv1.GetMasterConfigResponse{}
	return out, s.do(ctx, call{op: "read the master's configuration", method: http.MethodGet, path: "/api/v1/master/config", out: out})
}
