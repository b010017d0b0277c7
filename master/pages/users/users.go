// Package users has the pages of users for administrators, and the page of the visitor's own account with its
// password and sessions.
package users

import (
	"cmp"
	"embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/password"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed *.html
var files embed.FS

var (
	listPage    = ui.MustParse(files, "list.html")
	userPage    = ui.MustParse(files, "user.html", "sessions.html")
	accountPage = ui.MustParse(files, "account.html", "sessions.html")
)

const (
	listPath    = ui.Root + "users"
	accountPath = ui.Root + "account"
)

// Pages returns the pages.
func Pages() []ui.Page {
	return []ui.Page{
		{Pattern: "GET " + listPath, Nav: "Users", Admin: true, Serve: showList},
		{Pattern: "POST " + listPath, Admin: true, Serve: createUser},
		{Pattern: "GET " + listPath + "/{user}", Admin: true, Serve: showUser},
		{Pattern: "POST " + listPath + "/{user}", Admin: true, Serve: changeUser},
		{Pattern: "POST " + listPath + "/{user}/password", Admin: true, Serve: resetPassword},
		{Pattern: "GET " + listPath + "/{user}/deactivate", Admin: true, Serve: askDeactivate},
		{Pattern: "POST " + listPath + "/{user}/deactivate", Admin: true, Serve: setActive(false)},
		{Pattern: "POST " + listPath + "/{user}/activate", Admin: true, Serve: setActive(true)},
		{Pattern: "POST " + listPath + "/{user}/sessions/{session}/end", Admin: true, Serve: endUserSession},
		{Pattern: "GET " + accountPath, Serve: showAccount},
		{Pattern: "POST " + accountPath + "/password", Serve: changePassword},
		{Pattern: "POST " + accountPath + "/sessions/{session}/end", Serve: endOwnSession},
	}
}

func userPath(id int32) string { return fmt.Sprintf("%s/%d", listPath, id) }

// list is the data of list.html.
type list struct {
	Users []*apiv1.User
	// All reports that inactive users are shown, too.
	All    bool
	Paging ui.Paging
	// Username and Display are the fields of a form that is shown again with its Problem.
	Username, Display, Problem string
}

func showList(v *ui.Visit) error { return showUsers(v, list{All: v.URL.Query().Has("all")}) }

func showUsers(v *ui.Visit, l list) (err error) {
	if l.Users, err = v.API.Users(v.Context(), l.All); err != nil {
		return err
	}
	slices.SortFunc(l.Users, func(a, b *apiv1.User) int { return cmp.Compare(a.GetUsername(), b.GetUsername()) })
	l.Users, l.Paging = ui.Part(l.Users, v.URL.Query())
	if l.Problem != "" {
		return v.ShowInvalid(listPage, "Users", l)
	}
	return v.Show(listPage, "Users", l)
}

func createUser(v *ui.Visit) error {
	l := list{Username: strings.TrimSpace(v.PostForm.Get("username")), Display: strings.TrimSpace(v.PostForm.Get("display"))}
	secret := v.PostForm.Get("password")
	if l.Problem = weakness(secret); l.Problem != "" {
		return showUsers(v, l)
	}
	u, err := v.API.CreateUser(v.Context(), &apiv1.User{Username: l.Username, DisplayName: l.Display, Active: true, Admin: v.PostForm.Has("admin")}, secret)
	if ui.IsInvalid(err) {
		l.Problem = ui.Sentence(err)
		return showUsers(v, l)
	}
	if err != nil {
		return err
	}
	return v.Done(userPath(u.GetId()), "The user was created.")
}

// weakness returns the sentence about a password that breaks the rule, or "".
func weakness(secret string) string {
	if password.Strong(secret) {
		return ""
	}
	return "The password " + password.Rule + "."
}

// findUser returns the user of a visit.
func findUser(v *ui.Visit) (*apiv1.User, error) {
	id, err := strconv.ParseInt(v.PathValue("user"), 10, 32)
	if err != nil {
		return nil, &ui.Refusal{Status: http.StatusNotFound, Message: "There is no user with this number."}
	}
	all, err := v.API.Users(v.Context(), true)
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		if u.GetId() == int32(id) {
			return u, nil
		}
	}
	return nil, &ui.Refusal{Status: http.StatusNotFound, Message: "There is no user with this number."}
}

// user is the data of user.html.
type user struct {
	*apiv1.User

	Path     string
	Sessions []session
	Problem  string
}

func showUser(v *ui.Visit) error { return showOne(v, "") }

func showOne(v *ui.Visit, problem string) error {
	u, err := findUser(v)
	if err != nil {
		return err
	}
	sessions, err := v.API.Sessions(v.Context(), u.GetId())
	if err != nil {
		return err
	}
	data := user{User: u, Path: userPath(u.GetId()), Sessions: newSessions(sessions, userPath(u.GetId())), Problem: problem}
	if problem != "" {
		return v.ShowInvalid(userPage, "User "+u.GetUsername(), data)
	}
	return v.Show(userPage, "User "+u.GetUsername(), data)
}

// patch changes a user and shows it again, with the problem if the change is not valid.
func patch(v *ui.Visit, change *apiv1.PatchUser, done string) error {
	u, err := findUser(v)
	if err != nil {
		return err
	}
	_, err = v.API.PatchUser(v.Context(), u.GetId(), change)
	if ui.IsInvalid(err) {
		return showOne(v, ui.Sentence(err))
	}
	if err != nil {
		return err
	}
	return v.Done(userPath(u.GetId()), done)
}

func changeUser(v *ui.Visit) error {
	return patch(v, &apiv1.PatchUser{
		DisplayName: proto.String(strings.TrimSpace(v.PostForm.Get("display"))), Admin: proto.Bool(v.PostForm.Has("admin")),
	}, "The user was changed.")
}

func resetPassword(v *ui.Visit) error {
	secret := v.PostForm.Get("password")
	if problem := weakness(secret); problem != "" {
		return showOne(v, problem)
	}
	return patch(v, &apiv1.PatchUser{Password: proto.String(password.Hash(secret)), IsHashed: proto.Bool(true)}, "The password was changed. The user's sessions have ended.")
}

func askDeactivate(v *ui.Visit) error {
	u, err := findUser(v)
	if err != nil {
		return err
	}
	return v.Confirm(ui.Confirmation{
		Question: "Deactivate " + u.GetUsername() + "?", Button: "Deactivate", Back: userPath(u.GetId()),
		Effects: []string{"The user cannot log in any more, and all sessions of the user end. Running tasks and experiments go on."},
	})
}

func setActive(active bool) func(*ui.Visit) error {
	done := "The user was deactivated."
	if active {
		done = "The user is active again."
	}
	return func(v *ui.Visit) error { return patch(v, &apiv1.PatchUser{Active: proto.Bool(active)}, done) }
}
