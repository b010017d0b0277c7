package users_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/pages/users"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func api(admin string) pagetest.API {
	return pagetest.API{
		"GET /api/v1/me":                                   `{"user": {"id": 2, "username": "alice", "admin": ` + admin + `}}`,
		"GET /api/v1/users":                                `{"users": [{"id": 2, "username": "alice", "active": true, "admin": true}, {"id": 3, "username": "bob", "displayName": "<b>Bob", "active": false}]}`,
		"GET /api/v1/users/{user}/sessions":                `{"sessions": [{"id": "s/1", "address": "10.0.0.<1>", "current": true}, {"id": "s2", "allocationId": "t1.1"}]}`,
		"POST /api/v1/users/{user}/sessions/{session}/end": `{"ended": 1}`,
		"PATCH /api/v1/users/{user}":                       `{"user": {"id": 3}}`,
		"POST /api/v1/users":                               `{"user": {"id": 9}}`,
	}
}

const strong = "Correct-Horse-9"

func TestUsers(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, users.Pages(), api("true"))
	page := s.Get("/det/users?all=1", http.StatusOK)
	s.WantTexts(page, `href="/det/users/3"`, "&lt;b&gt;Bob", "inactive", "Only active users")
	s.WantNone(page, "<b>Bob")
	s.WantTexts(s.Get("/det/users/3", http.StatusOK), "&lt;b&gt;Bob", "10.0.0.&lt;1&gt;", `action="/det/users/3/sessions/s%2F1/end"`, `href="/det/tasks/t1"`, "Activate")
	s.WantTexts(s.Get("/det/users/2", http.StatusOK), "/det/users/2/deactivate")
	s.WantTexts(s.Get("/det/users/2/deactivate", http.StatusOK), "Deactivate alice?", "cannot log in")
	s.Get("/det/users/77", http.StatusNotFound)
	s.Get("/det/users/x", http.StatusNotFound)
	for _, tt := range []struct {
		path string
		form url.Values
		want string
	}{
		{"", url.Values{"username": {"eve"}, "password": {strong}, "admin": {"on"}}, `POST /api/v1/users {"user":{"username":"eve","admin":true,"active":true}`},
		{"/3", url.Values{"display": {"Bob"}}, `PATCH /api/v1/users/3 {"admin":false,"displayName":"Bob"}`},
		{"/3/activate", nil, `PATCH /api/v1/users/3 {"active":true}`},
		{"/2/deactivate", nil, `PATCH /api/v1/users/2 {"active":false}`},
		{"/3/password", url.Values{"password": {strong}}, `PATCH /api/v1/users/3 {"password":"`},
		{"/3/sessions/s2/end", nil, "POST /api/v1/users/3/sessions/s2/end "},
	} {
		s.Post("/det/users"+tt.path, tt.form, http.StatusSeeOther)
		if got := s.Sent(); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) || strings.Contains(got[0], strong) {
			t.Errorf("%s: got %q, want %q", tt.path, got, tt.want)
		}
	}
	for _, path := range []string{"", "/3/password"} {
		rec := s.Post("/det/users"+path, url.Values{"password": {"weak"}, "username": {"eve"}}, http.StatusUnprocessableEntity)
		s.WantTexts(rec.Body.String(), "The password must have at least 8 characters")
		s.WantNone(rec.Body.String(), "weak")
	}
	taken := api("true")
	taken["POST /api/v1/users"] = `409 {"message": "user 'eve' exists"}`
	s = pagetest.New(t, users.Pages(), taken)
	s.WantTexts(s.Post("/det/users", url.Values{"password": {strong}, "username": {"eve"}}, http.StatusUnprocessableEntity).Body.String(), "exists.", `value="eve"`)
}

func TestOnlyAdministratorsSeeUsers(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, users.Pages(), api("false"))
	s.Get("/det/users", http.StatusForbidden)
	s.Post("/det/users/3/activate", nil, http.StatusForbidden)
	s.WantNone(s.Get("/det/account", http.StatusOK), `href="/det/users"`)
}

func TestAccount(t *testing.T) {
	t.Parallel()
	s := pagetest.New(t, users.Pages(), api("false"))
	s.WantTexts(s.Get("/det/account", http.StatusOK), "this session", `action="/det/account/sessions/s%2F1/end"`, "Change your password")
	s.Post("/det/account/sessions/s2/end", nil, http.StatusSeeOther)
	s.Post("/det/account/password", url.Values{"current": {"old"}, "password": {strong}, "again": {strong}}, http.StatusSeeOther)
	got := strings.Join(s.Sent(), "\n")
	if !strings.HasPrefix(got, "POST /api/v1/users/2/sessions/s2/end \nPATCH /api/v1/users/2 {") || !strings.Contains(got, "currentPassword") || strings.Contains(got, strong) {
		t.Errorf("got %q", got)
	}
	for want, form := range map[string]url.Values{
		"The new passwords differ.": {"password": {strong}, "again": {"x"}},
		"must have at least 8":      {"password": {"x"}, "again": {"x"}},
	} {
		s.WantTexts(s.Post("/det/account/password", form, http.StatusUnprocessableEntity).Body.String(), want)
	}
	wrong := api("false")
	wrong["PATCH /api/v1/users/{user}"] = `403 {"message": "currentPassword: is not the password of user 'alice'"}`
	s = pagetest.New(t, users.Pages(), wrong)
	s.WantTexts(s.Post("/det/account/password", url.Values{"password": {strong}, "again": {strong}}, http.StatusUnprocessableEntity).Body.String(), "The current password is not correct.")
}

func TestUsersArePaged(t *testing.T) {
	t.Parallel()
	with, list := api("true"), ""
	for i := range 150 {
		list += fmt.Sprintf(`, {"id": %d, "username": "u%03d"}`, i+10, i)
	}
	with["GET /api/v1/users"] = `{"users": [` + list[2:] + `]}`
	s := pagetest.New(t, users.Pages(), with)
	page := s.Get("/det/users", http.StatusOK)
	s.WantTexts(page, "u099", "1–100 of 150", "/det/users?offset=100")
	s.WantNone(page, "u100")
	s.WantTexts(s.Get("/det/users?offset=100", http.StatusOK), "u149", "101–150 of 150")
}
