package server

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// accountCalls serves the calls about users and their sessions.
type accountCalls struct{ *shared }

func (a *accountCalls) routes() []route {
	return []route{
		auditedRoute("login", sizedCall(postRoute("auth/login", open, unaryCall(a.login)), loginLimit)),
		auditedRoute("logout", postRoute("auth/logout", user, plainCall(a.logout))),
		getRoute("me", either, plainCall(a.me)),
		getRoute("auth/user", either, plainCall(a.me)),
		getRoute("users", login, plainCall(a.users)),
		auditedRoute("user.create", postRoute("users", admin, unaryCall(a.createUser))),
		getRoute("users/{user}", login, plainCall(a.userByID)),
		getRoute("users/{username}/by-username", login, plainCall(a.userByName)),
		getRoute("users/{user}/sessions", login, plainCall(a.sessions)),
		auditedRoute("session.end", postRoute("users/{user}/sessions/{session}/end", login, plainCall(a.endSession))),
		auditedRoute("user.change", route{method: http.MethodPatch, path: "users/{user}", access: login, endpoint: unaryCall(a.patchUser)}),
	}
}

func (a *accountCalls) login(c *call, in *apiv1.LoginRequest) (*apiv1.LoginResponse, error) {
	addr, _, err := net.SplitHostPort(c.RemoteAddr)
	if err != nil {
		addr = c.RemoteAddr
	}
	c.noteTarget(a.findUser(in.GetUsername()))
	text, u, err := a.cfg.Accounts.Login(c.Context(), in, addr)
	if err != nil {
		return nil, err
	}
	c.user = u
	a.setCookie(c, string(text), 0)
	return &apiv1.LoginResponse{Token: string(text), User: u}, nil
}

func (a *accountCalls) logout(c *call) (*apiv1.LogoutResponse, error) {
	if err := a.cfg.Accounts.Logout(c.Context(), c.token); err != nil {
		return nil, err
	}
	a.setCookie(c, "", -1)
	return &apiv1.LogoutResponse{}, nil
}

func (a *accountCalls) setCookie(c *call, text string, age int) {
	cookie := &http.Cookie{
		Name: cookieName, Value: text, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: a.cfg.Certificate != nil, SameSite: http.SameSiteLaxMode,
	}
	if age < 0 {
		cookie.Expires = time.Unix(0, 0)
	}
	http.SetCookie(c.w, cookie)
}

func (a *accountCalls) me(c *call) (*apiv1.CurrentUserResponse, error) {
	return &apiv1.CurrentUserResponse{User: c.user}, nil
}

var userOrder = map[string]func(a, b *apiv1.User) int{
	"":                       byUserID,
	"SORT_BY_ID":             byUserID,
	"SORT_BY_USER_NAME":      func(a, b *apiv1.User) int { return strings.Compare(a.GetUsername(), b.GetUsername()) },
	"SORT_BY_DISPLAY_NAME":   func(a, b *apiv1.User) int { return strings.Compare(a.GetDisplayName(), b.GetDisplayName()) },
	"SORT_BY_NAME":           func(a, b *apiv1.User) int { return strings.Compare(shownName(a), shownName(b)) },
	"SORT_BY_ADMIN":          func(a, b *apiv1.User) int { return compareBool(a.GetAdmin(), b.GetAdmin()) },
	"SORT_BY_ACTIVE":         func(a, b *apiv1.User) int { return compareBool(a.GetActive(), b.GetActive()) },
	"SORT_BY_REMOTE":         func(a, b *apiv1.User) int { return compareBool(a.GetRemote(), b.GetRemote()) },
	"SORT_BY_MODIFIED_TIME":  func(a, b *apiv1.User) int { return a.GetModifiedAt().AsTime().Compare(b.GetModifiedAt().AsTime()) },
	"SORT_BY_LAST_AUTH_TIME": func(a, b *apiv1.User) int { return a.GetLastAuthAt().AsTime().Compare(b.GetLastAuthAt().AsTime()) },
}

func byUserID(a, b *apiv1.User) int { return cmp.Compare(a.GetId(), b.GetId()) }

func shownName(u *apiv1.User) string { return cmp.Or(u.GetDisplayName(), u.GetUsername()) }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (a *accountCalls) users(c *call) (*apiv1.GetUsersResponse, error) {
	params := c.query()
	active, isAdmin, name := params.Flag("active"), params.Flag("admin"), strings.ToLower(params.Text("name"))
	list := slices.DeleteFunc(a.cfg.Accounts.Users(), func(u *apiv1.User) bool {
		return (active != nil && u.GetActive() != *active) || (isAdmin != nil && u.GetAdmin() != *isAdmin) ||
			(name != "" && !strings.Contains(u.GetUsername(), name) && !strings.Contains(strings.ToLower(u.GetDisplayName()), name))
	})
	query.Sort(params, list, userOrder)
	part, p := query.Cut(params, list)
	return &apiv1.GetUsersResponse{Users: part, Pagination: p}, params.Err()
}

func (a *accountCalls) createUser(c *call, in *apiv1.PostUserRequest) (*apiv1.PostUserResponse, error) {
	u, err := a.cfg.Accounts.CreateUser(c.Context(), c.user, in)
	c.noteTarget(u.GetUsername(), fmt.Sprintf("admin=%v active=%v remote=%v", u.GetAdmin(), u.GetActive(), u.GetRemote()))
	return &apiv1.PostUserResponse{User: u}, err
}

func (c *call) userID() (int32, error) { return c.numberInPath("user") }

func (a *accountCalls) userByID(c *call) (*apiv1.GetUserResponse, error) {
	id, err := c.userID()
	if err != nil {
		return nil, err
	}
	u, err := a.cfg.Accounts.User(id)
	return &apiv1.GetUserResponse{User: u}, err
}

func (a *accountCalls) userByName(c *call) (*apiv1.GetUserResponse, error) {
	u, err := a.cfg.Accounts.UserNamed(c.PathValue("username"))
	return &apiv1.GetUserResponse{User: u}, err
}

func (a *accountCalls) patchUser(c *call, in *apiv1.PatchUser) (*apiv1.PatchUserResponse, error) {
	id, err := c.userID()
	if err != nil {
		return nil, err
	}
	c.noteTarget(a.userTarget(id), describeChanges(in)...)
	u, err := a.cfg.Accounts.PatchUser(c.Context(), c.user, c.token, id, in)
	return &apiv1.PatchUserResponse{User: u}, err
}

// sessions and endSession are extensions of det-deploy.
func (a *accountCalls) sessions(c *call) (*apiv1.GetSessionsResponse, error) {
	id, err := c.userID()
	if err != nil {
		return nil, err
	}
	list, err := a.cfg.Accounts.Sessions(c.user, c.token, id)
	return &apiv1.GetSessionsResponse{Sessions: list}, err
}

func (a *accountCalls) endSession(c *call) (*apiv1.EndSessionResponse, error) {
	id, err := c.userID()
	if err != nil {
		return nil, err
	}
	c.noteTarget(a.userTarget(id), c.PathValue("session"))
	n, err := a.cfg.Accounts.EndSession(c.Context(), c.user, id, c.PathValue("session"))
	return &apiv1.EndSessionResponse{Ended: int32(n)}, err
}
