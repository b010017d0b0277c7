package users

import (
	"net/http"
	"net/url"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/client"
	"github.com/det-deploy/det-deploy/master/api/password"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// session is a login, or the token of a task.
type session struct {
	*apiv1.Session

	// End is the address of the form that ends it.
	End string
	// Task is the task whose tools have the token.
	Task string
}

func newSessions(list []*apiv1.Session, path string) []session {
	out := make([]session, 0, len(list))
	for _, s := range list {
		out = append(out, session{Session: s, End: path + "/sessions/" + url.PathEscape(s.GetId()) + "/end", Task: taskOf(s.GetAllocationId())})
	}
	return out
}

// taskOf returns the task of an allocation with the ID "<task>.<n>".
func taskOf(allocation string) string {
	for i := len(allocation) - 1; i >= 0; i-- {
		if allocation[i] == '.' {
			return allocation[:i]
		}
	}
	return allocation
}

// account is the data of account.html.
type account struct {
	Sessions []session
	Problem  string
}

func showAccount(v *ui.Visit) error { return showOwn(v, "") }

func showOwn(v *ui.Visit, problem string) error {
	list, err := v.API.Sessions(v.Context(), v.User.GetId())
	if err != nil {
		return err
	}
	data := account{newSessions(list, accountPath), problem}
	if problem != "" {
		return v.ShowInvalid(accountPage, "Your account", data)
	}
	return v.Show(accountPage, "Your account", data)
}

func changePassword(v *ui.Visit) error {
	old, secret := v.PostForm.Get("current"), v.PostForm.Get("password")
	problem := weakness(secret)
	if secret != v.PostForm.Get("again") {
		problem = "The new passwords differ."
	}
	if problem != "" {
		return showOwn(v, problem)
	}
	_, err := v.API.PatchUser(v.Context(), v.User.GetId(), &apiv1.PatchUser{
		Password: proto.String(password.Hash(secret)), CurrentPassword: proto.String(password.Hash(old)), IsHashed: proto.Bool(true),
	})
	switch kind := client.KindOf(err); {
	case kind == client.Forbidden:
		return showOwn(v, "The current password is not correct.")
	case kind == client.Invalid || kind == client.TooMany:
		return showOwn(v, ui.Sentence(err))
	case err != nil:
		return err
	}
	return v.Done(accountPath, "Your password was changed, and your sessions have ended. Log in with the new password.")
}

func endOwnSession(v *ui.Visit) error {
	if _, err := v.API.EndSession(v.Context(), v.User.GetId(), v.PathValue("session")); err != nil {
		return err
	}
	return v.Done(accountPath, "The session has ended.")
}

func endUserSession(v *ui.Visit) error {
	u, err := findUser(v)
	if err != nil {
		return err
	}
	_, err = v.API.EndSession(v.Context(), u.GetId(), v.PathValue("session"))
	if client.KindOf(err) == client.NotFound {
		return &ui.Refusal{Status: http.StatusNotFound, Message: "This session has already ended."}
	}
	if err != nil {
		return err
	}
	return v.Done(userPath(u.GetId()), "The session has ended.")
}
