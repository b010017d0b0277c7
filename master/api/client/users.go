package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/password"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// users are the calls about users and their sessions.
type users struct{ *transport }

// Users lists the active users, or all.
func (c users) Users(ctx context.Context, all bool) ([]*apiv1.User, error) {
	query := url.Values{}
	if !all {
		query.Set("active", "true")
	}
	out := &apiv1.GetUsersResponse{}
	err := c.do(ctx, call{op: "list users", method: http.MethodGet, path: "/api/v1/users", query: query, out: out})
	return out.GetUsers(), err
}

// User returns the user of that name.
func (c users) User(ctx context.Context, name string) (*apiv1.User, error) {
	out := &apiv1.GetUserResponse{}
	err := c.do(ctx, call{
		op: "get user " + name, method: http.MethodGet,
		path: "/api/v1/users/" + url.PathEscape(name) + "/by-username", out: out,
	})
	return out.GetUser(), err
}

// CreateUser creates a user. The password may be empty for a user of an identity provider.
func (c users) CreateUser(ctx context.Context, u *apiv1.User, secret string) (*apiv1.User, error) {
	out := &apiv1.PostUserResponse{}
	err := c.do(ctx, call{
		op: "create user " + u.GetUsername(), method: http.MethodPost, path: "/api/v1/users",
		in:  &apiv1.PostUserRequest{User: u, Password: password.Hash(secret), IsHashed: true},
		out: out, once: true,
	})
	return out.GetUser(), err
}

// PatchUser changes the fields that are set in change.
func (c users) PatchUser(ctx context.Context, id int32, change *apiv1.PatchUser) (*apiv1.User, error) {
	out := &apiv1.PatchUserResponse{}
	n := strconv.Itoa(int(id))
	err := c.do(ctx, call{op: "change user " + n, method: http.MethodPatch, path: "/api/v1/users/" + n, in: change, out: out})
	return out.GetUser(), err
}

// Sessions lists the sessions of a user, newest first.
func (c users) Sessions(ctx context.Context, id int32) ([]*apiv1.Session, error) {
	out := &apiv1.GetSessionsResponse{}
	n := strconv.Itoa(int(id))
	err := c.do(ctx, call{op: "list the sessions of user " + n, method: http.MethodGet, path: "/api/v1/users/" + n + "/sessions", out: out})
	return out.GetSessions(), err
}

// EndSession ends a session of a user, or all if session is "all", and returns the number of ended
// sessions.
func (c users) EndSession(ctx context.Context, id int32, session string) (int32, error) {
	out := &apiv1.EndSessionResponse{}
	n := strconv.Itoa(int(id))
	err := c.do(ctx, call{
		op: "end session " + session, method: http.MethodPost,
		path: "/api/v1/users/" + n + "/sessions/" + url.PathEscape(session) + "/end", out: out, once: true,
	})
	return out.GetEnded(), err
}
