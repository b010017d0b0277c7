package auth

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/password"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestUsersAreCreatedByAdministrators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin(t)
	plainUser, err := w.User(2)
	if err != nil {
		t.Fatal(err)
	}
	group := &apiv1.AgentUserGroup{
		AgentUid: proto.Int32(7), AgentGid: proto.Int32(8), AgentUser: proto.String("u"), AgentGroup: proto.String("g"),
	}
	tests := []struct {
		name string
		by   *apiv1.User
		in   *apiv1.PostUserRequest
		want status.Code
	}{
		{"a full one", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "Ann", Active: true, AgentUserGroup: group}, Password: "Secret-123"}, 0},
		{"a remote one without a password", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "remote", Remote: true}}, 0},
		{"a hashed password is not checked", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "bob"}, Password: password.Hash("x"), IsHashed: true}, 0},
		{"a password in the place of its hash", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve"}, Password: "short", IsHashed: true}, status.InvalidArgument},
		{"a password that no login may send", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve"}, Password: "Aa1" + strings.Repeat("x", passwordLimit)}, status.InvalidArgument},
		{"not by others", plainUser, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve"}, Password: "Secret-123"}, status.PermissionDenied},
		{"not without a password", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve"}}, status.InvalidArgument},
		{"not with a weak one", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve"}, Password: "weak"}, status.InvalidArgument},
		{"not with a password for a remote one", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve", Remote: true}, Password: "Secret-123"}, status.InvalidArgument},
		{"not with a name that is taken", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "ADMIN"}, Password: "Secret-123"}, status.AlreadyExists},
		{"not without a name", admin, &apiv1.PostUserRequest{Password: "Secret-123"}, status.InvalidArgument},
		{"not with a name of dots", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: ".."}, Password: "Secret-123"}, status.InvalidArgument},
		{"not with a space in its name", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "a b"}, Password: "Secret-123"}, status.InvalidArgument},
		{"not with a name that turns around", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "adm\u202eni"}, Password: "Secret-123"}, status.InvalidArgument},
		{"not with a name that is another's but for a mark", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "admin\u034f"}, Password: "Secret-123"}, status.InvalidArgument},
		{"nor but for a variation", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "admin\ufe0f"}, Password: "Secret-123"}, status.InvalidArgument},
		{"nor but for its width", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "ａｄｍｉｎ"}, Password: "Secret-123"}, status.AlreadyExists},
		{"nor but for the alphabet of a letter", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "\u0430dmin"}, Password: "Secret-123"}, status.InvalidArgument},
		{"nor but for the alphabet of all", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "\u03b1\u03b7\u03b7"}, Password: "Secret-123"}, status.AlreadyExists},
		{"a name of another alphabet", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "Анна"}, Password: "Secret-123"}, 0},
		{"nor to be shown so", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve", DisplayName: "adm\u202eni"}, Password: "Secret-123"}, status.InvalidArgument},
		{"nor with another user's name", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve", DisplayName: "Admin"}, Password: "Secret-123"}, status.AlreadyExists},
		{"nor by a name that is too long", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve", DisplayName: strings.Repeat("é", 129)}, Password: "Secret-123"}, status.InvalidArgument},
		{"but by a long one", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "long", DisplayName: strings.Repeat("é", 128)}, Password: "Secret-123"}, 0},
		{"not with half a Unix account", admin, &apiv1.PostUserRequest{User: &apiv1.User{Username: "eve", AgentUserGroup: &apiv1.AgentUserGroup{AgentUid: proto.Int32(1)}}, Password: "Secret-123"}, status.InvalidArgument},
	}
	for _, tt := range tests { // in order: they share the cluster
		u, err := w.CreateUser(t.Context(), tt.by, tt.in)
		if tt.want != 0 {
			wantCode(t, err, tt.want)
		} else if err != nil || u.GetId() < 3 {
			t.Errorf("%s: got %v, %v, want a user", tt.name, u, err)
		}
	}
	w.restart(t)
	ann, err := w.UserNamed("ANN")
	if err != nil || ann.GetUsername() != "ann" || ann.GetAgentUserGroup().GetAgentGid() != 8 {
		t.Errorf("after a restart: got %v, %v, want ann", ann, err)
	}
	w.must(t, "ann", "Secret-123")
	_, err = w.login(t.Context(), "remote", "")
	wantCode(t, err, status.Unauthenticated)
	_, err = w.login(t.Context(), "bob", "x") // the right password of a deactivated user
	wantCode(t, err, status.PermissionDenied)
}

func TestPatchingUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, admin := t.Context(), w.admin(t)
	other, err := w.User(2)
	if err != nil {
		t.Fatal(err)
	}
	refused := []struct {
		name string
		by   *apiv1.User
		id   int32
		in   *apiv1.PatchUser
		want status.Code
	}{
		{"others may not change others", other, 1, &apiv1.PatchUser{DisplayName: proto.String("x")}, status.PermissionDenied},
		{"a password in the place of its hash", admin, 2, &apiv1.PatchUser{Password: proto.String("short"), IsHashed: proto.Bool(true)}, status.InvalidArgument},
		{"a short password", admin, 2, &apiv1.PatchUser{Password: proto.String("short")}, status.InvalidArgument},
		{"others may not become administrators", other, 2, &apiv1.PatchUser{Admin: proto.Bool(true)}, status.PermissionDenied},
		{"the last administrator stays one", admin, 1, &apiv1.PatchUser{Admin: proto.Bool(false)}, status.FailedPrecondition},
		{"the last administrator stays active", admin, 1, &apiv1.PatchUser{Active: proto.Bool(false)}, status.FailedPrecondition},
		{"who is missing is missing", admin, 99, &apiv1.PatchUser{Active: proto.Bool(false)}, status.NotFound},
		{"a name that is taken", admin, 2, &apiv1.PatchUser{Username: proto.String("admin")}, status.AlreadyExists},
		{"a name that looks like another's", admin, 2, &apiv1.PatchUser{Username: proto.String("ａｄｍｉｎ")}, status.AlreadyExists},
		{"a name of two alphabets", admin, 2, &apiv1.PatchUser{Username: proto.String("\u0430strid")}, status.InvalidArgument},
		{"another's name to be shown, in other letters", other, 2, &apiv1.PatchUser{DisplayName: proto.String("\u0410dmin")}, status.AlreadyExists},
		{"another's name to be shown", other, 2, &apiv1.PatchUser{DisplayName: proto.String("Admin")}, status.AlreadyExists},
		{"one that looks like another's to be shown", other, 2, &apiv1.PatchUser{DisplayName: proto.String("Ａdmin")}, status.AlreadyExists},
		{"another's name to be shown, by an administrator", admin, 2, &apiv1.PatchUser{DisplayName: proto.String("Admin")}, status.AlreadyExists},
		{"another's name between blanks", other, 2, &apiv1.PatchUser{DisplayName: proto.String(" Admin ")}, status.AlreadyExists},
		{"a display name that is too long", other, 2, &apiv1.PatchUser{DisplayName: proto.String(strings.Repeat("x", 129))}, status.InvalidArgument},
		{"a weak password", other, 2, &apiv1.PatchUser{Password: proto.String("weak")}, status.InvalidArgument},
		{"no password", other, 2, &apiv1.PatchUser{Password: proto.String("")}, status.InvalidArgument},
	}
	own := w.must(t, "determined", first)
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.PatchUser(ctx, tt.by, own, tt.id, tt.in)
			wantCode(t, err, tt.want)
		})
	}
	text := w.must(t, "determined", first)
	_, task, err := w.TaskTokens(ctx, 2, "t.1")
	if err != nil {
		t.Fatal(err)
	}
	u, err := w.PatchUser(ctx, other, text, 2, &apiv1.PatchUser{Password: proto.String("Another-1"), DisplayName: proto.String("D")})
	if err != nil || u.GetDisplayName() != "D" {
		t.Fatalf("got %v, %v, want the new display name", u, err)
	}
	_, _, err = w.UserOf(text)
	wantCode(t, err, status.Unauthenticated) // a new password ends the logins
	_, _, err = w.UserOf(string(task))
	wantCode(t, err, status.Unauthenticated) // and the user's tokens inside tasks
	w.must(t, "determined", "Another-1")
	if _, err := w.PatchUser(ctx, admin, "", 2, &apiv1.PatchUser{Active: proto.Bool(false)}); err != nil {
		t.Fatal(err)
	}
	_, _, err = w.UserOf(string(task))
	wantCode(t, err, status.Unauthenticated)
	_, err = w.login(ctx, "determined", "Another-1")
	wantCode(t, err, status.PermissionDenied)
	if _, err := w.PatchUser(ctx, admin, "", 2, &apiv1.PatchUser{Username: proto.String("Dee")}); err != nil {
		t.Fatal(err)
	}
	_, err = w.UserNamed("determined")
	wantCode(t, err, status.NotFound)
}

// An error must not reveal to strangers which users exist or are active.
func TestLoginRevealsDeactivationOnlyForTheRightPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.PatchUser(t.Context(), w.admin(t), "", 2, &apiv1.PatchUser{Active: proto.Bool(false)}); err != nil {
		t.Fatal(err)
	}
	_, err := w.login(t.Context(), "determined", first)
	wantCode(t, err, status.PermissionDenied)
	if err == nil || !strings.HasPrefix(err.Error(), "user is not active") {
		t.Errorf("got %v, want it to begin with that the user is not active", err)
	}
	_, wrong := w.login(t.Context(), "determined", "Wrong-1234")
	_, missing := w.login(t.Context(), "nobody", "Wrong-1234")
	wantCode(t, wrong, status.Unauthenticated)
	if wrong == nil || missing == nil || wrong.Error() != missing.Error() {
		t.Errorf("got %v and %v, want the same words for a wrong password and a user that does not exist", wrong, missing)
	}
}

func TestDuplicateDisplayNameRequiresAdministrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, admin := t.Context(), w.admin(t)
	text := w.must(t, "determined", first)
	other, err := w.User(2)
	if err != nil {
		t.Fatal(err)
	}
	ada := &apiv1.PatchUser{DisplayName: proto.String("Ada")}
	if _, err := w.PatchUser(ctx, admin, "", 1, ada); err != nil {
		t.Fatal(err)
	}
	_, err = w.PatchUser(ctx, other, text, 2, ada)
	wantCode(t, err, status.AlreadyExists)
	if _, err := w.PatchUser(ctx, admin, "", 2, ada); err != nil {
		t.Errorf("an administrator gives the name: got %v", err)
	}
	if _, err := w.PatchUser(ctx, other, text, 2, ada); err != nil {
		t.Errorf("a user keeps the display name they have: got %v", err)
	}
}

// A renamed administrator's former name stays theirs.
func TestDisplayNamesOfBuiltInUsersAreReserved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, admin := t.Context(), w.admin(t)
	text := w.must(t, "determined", first)
	other, err := w.User(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.PatchUser(ctx, admin, "", 1, &apiv1.PatchUser{Username: proto.String("boss")}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"admin", " Admin ", "\u0430dmin"} {
		_, err := w.PatchUser(ctx, other, text, 2, &apiv1.PatchUser{DisplayName: &name})
		wantCode(t, err, status.InvalidArgument)
		_, err = w.PatchUser(ctx, admin, "", 2, &apiv1.PatchUser{DisplayName: &name})
		wantCode(t, err, status.InvalidArgument)
	}
	if _, err := w.PatchUser(ctx, other, text, 2, &apiv1.PatchUser{DisplayName: proto.String("Determined")}); err != nil {
		t.Errorf("the name of the user itself: %v", err)
	}
}
