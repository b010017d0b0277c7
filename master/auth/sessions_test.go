package auth

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

func TestTaskTokenOfAdministratorIsNotAdministrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, text, err := w.TaskTokens(t.Context(), 1, "t.1")
	if err != nil {
		t.Fatal(err)
	}
	u, inTask, err := w.UserOf(string(text))
	if err != nil || u.GetAdmin() || u.GetId() != 1 || inTask != "t.1" {
		t.Errorf("got %v in %q, %v, want admin without rights in t.1", u, inTask, err)
	}
	if !w.admin(t).GetAdmin() {
		t.Error("got the user changed, want the token's reach")
	}
}

// Tokens that act as a user end with the password and with the account, even if that is activated
// again.
func TestTaskTokensEndWithPasswordAndAccount(t *testing.T) {
	t.Parallel()
	ends := map[string]*apiv1.PatchUser{
		"a new password":  {Password: proto.String("Another-1")},
		"deactivation":    {Active: proto.Bool(false)},
		"becoming remote": {Remote: proto.Bool(true)},
	}
	for name, change := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			own, text, err := w.TaskTokens(t.Context(), 2, "t.1")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.PatchUser(t.Context(), w.admin(t), "", 2, change); err != nil {
				t.Fatal(err)
			}
			if _, err := w.PatchUser(t.Context(), w.admin(t), "", 2, &apiv1.PatchUser{Active: proto.Bool(true)}); err != nil {
				t.Fatal(err)
			}
			w.restart(t)
			_, _, err = w.UserOf(string(text))
			wantCode(t, err, status.Unauthenticated)
			if _, _, err := w.AllocationOf(string(own)); err != nil {
				t.Errorf("the task's own token: got %v, want it good until the task ends", err)
			}
		})
	}
}

func TestChangeOfPasswordRequiresTheOldOne(t *testing.T) {
	t.Parallel()
	current := func(p string) *string { return &p }
	tests := []struct {
		name    string
		age     time.Duration
		current *string
		want    status.Code
	}{
		{"a login that is fresh", provenFor - time.Second, nil, 0},
		{"a login that is older", provenFor, nil, status.PermissionDenied},
		{"an older one with the password", time.Hour, current(first), 0},
		{"an older one with a guess", time.Hour, current("Wrong-1234"), status.PermissionDenied},
		{"a fresh one with a guess", 0, current("Wrong-1234"), status.PermissionDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			text := w.must(t, "determined", first)
			me, _, err := w.UserOf(text)
			if err != nil {
				t.Fatal(err)
			}
			w.pass(tt.age)
			_, err = w.PatchUser(t.Context(), me, text, 2, &apiv1.PatchUser{Password: proto.String("Another-1"), CurrentPassword: tt.current})
			if tt.want == 0 && err != nil {
				t.Errorf("got %v, want it changed", err)
			} else if tt.want != 0 {
				wantCode(t, err, tt.want)
			}
		})
	}
}

func TestWrongOldPasswordsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.must(t, "determined", first)
	me, _, err := w.UserOf(text)
	for range 2 * wrongAtOnce {
		_, err = w.PatchUser(t.Context(), me, text, 2, &apiv1.PatchUser{Password: proto.String("Another-1"), CurrentPassword: proto.String("Wrong-1234")})
	}
	wantCode(t, err, status.ResourceExhausted)
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, text := w.must(t, "determined", first), w.must(t, "determined", first)
	if _, _, err := w.TaskTokens(t.Context(), 2, "t.1"); err != nil {
		t.Fatal(err)
	}
	me, _, err := w.UserOf(text)
	if err != nil {
		t.Fatal(err)
	}
	w.pass(25 * time.Minute)
	if _, _, err := w.UserOf(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	list, err := w.Sessions(me, text, 2)
	if err != nil || len(list) != 3 {
		t.Fatalf("got %v, %v, want two logins and a task's", list, err)
	}
	var ended string
	for _, s := range list {
		switch {
		case s.GetCurrent():
			if got := s.GetLastUsedAt().AsTime(); !got.Equal(w.now().Truncate(usedStep)) || s.GetAddress() != "127.0.0.1" {
				t.Errorf("got %v, want it used of late from 127.0.0.1", s)
			}
		case s.GetAllocationId() == "":
			ended = s.GetId()
		}
	}
	if n, err := w.EndSession(t.Context(), me, 2, ended); n != 1 || err != nil {
		t.Errorf("got %d, %v, want one ended", n, err)
	}
	_, _, err = w.UserOf(old)
	wantCode(t, err, status.Unauthenticated)
	_, err = w.EndSession(t.Context(), me, 2, ended)
	wantCode(t, err, status.NotFound)
	_, err = w.Sessions(me, text, 1)
	wantCode(t, err, status.PermissionDenied)
	_, err = w.EndSession(t.Context(), me, 1, "all")
	wantCode(t, err, status.PermissionDenied)
	if n, err := w.EndSession(t.Context(), w.admin(t), 2, "all"); n != 2 || err != nil {
		t.Errorf("an administrator: got %d, %v, want both ended", n, err)
	}
}

// A login stored by the previous version has no creation time and stays valid.
func TestSessionsOfThePreviousVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, hash := token.NewSession(token.User)
	inTask, taskHash := token.NewSession(token.User)
	old := session{Kind: token.User, User: 2, Expires: w.now().Add(SessionLife - time.Hour)}
	tool := session{Kind: token.User, User: 2, Allocation: "t.1"}
	err := w.store.Write(t.Context(), func(tx *store.Tx) error {
		return errors.Join(sessions.Put(tx, string(hash), old.ownerParent(), old.Expires, old),
			sessions.Put(tx, string(taskHash), tool.ownerParent(), time.Time{}, tool))
	})
	if err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	me, _, err := w.UserOf(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, got, err := w.UserOf(string(inTask)); got != "t.1" || err != nil {
		t.Errorf("got %q, %v, want the task's", got, err)
	}
	list, err := w.Sessions(me, string(text), 2)
	if err != nil || len(list) != 2 || !list[0].GetCreatedAt().AsTime().Equal(w.now().Add(-time.Hour)) {
		t.Errorf("got %v, %v, want the login begun an hour ago", list, err)
	}
	_, err = w.PatchUser(t.Context(), me, string(text), 2, &apiv1.PatchUser{Password: proto.String("Another-1")})
	wantCode(t, err, status.PermissionDenied)
}
