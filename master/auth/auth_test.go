package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/password"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const first = "Initial-1234"

// world is an Auth with a clock that tests advance.
type world struct {
	*Auth
	path  string
	store *store.Store
	clock *atomic.Int64
}

// newStore returns an empty store.
func newStore(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "s.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // no longer used
	if _, err := s.Acquire(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	return s
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{path: filepath.Join(t.TempDir(), "s.db"), clock: &atomic.Int64{}}
	w.clock.Store(time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC).UnixNano())
	w.start(t)
	t.Cleanup(func() { _ = w.store.Close() }) // a restart in the test has closed it already
	return w
}

func (w *world) now() time.Time { return time.Unix(0, w.clock.Load()).UTC() }

func (w *world) pass(d time.Duration) { w.clock.Add(int64(d)) }

func (w *world) start(t testing.TB) {
	t.Helper()
	var err error
	if w.store, err = store.Open(t.Context(), store.Config{Path: w.path}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Acquire(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if w.Auth, err = Open(t.Context(), Config{Store: w.store, InitialPassword: first, Now: w.now}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) restart(t testing.TB) {
	t.Helper()
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.start(t)
}

func (w *world) login(ctx context.Context, name, password string) (string, error) {
	text, _, err := w.Login(ctx, &apiv1.LoginRequest{Username: name, Password: password}, "127.0.0.1")
	return string(text), err
}

func (w *world) must(t testing.TB, name, password string) string {
	t.Helper()
	text, err := w.login(t.Context(), name, password)
	if err != nil {
		t.Fatalf("log in as %s: %v", name, err)
	}
	return text
}

func (w *world) admin(t testing.TB) *apiv1.User {
	t.Helper()
	u, err := w.User(1)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func wantCode(t testing.TB, err error, want status.Code) {
	t.Helper()
	if err == nil || status.Of(err) != want {
		t.Errorf("got %v (%v), want %v", err, status.Of(err), want)
	}
}

// The warning about a shared password is logged when the users are created, and not at every start.
func TestSharedPasswordWarningIsLoggedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		own  Password
		want []int
	}{
		{"one for both", "", []int{1, 0}},
		{"one for each", "Another-1", []int{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			for start, want := range tt.want {
				var said strings.Builder
				cfg := Config{Store: s, InitialPassword: first, DeterminedPassword: tt.own, Log: slog.New(slog.NewTextHandler(&said, nil))}
				if _, err := Open(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
				if got := strings.Count(said.String(), "level=WARN"); got != want {
					t.Errorf("start %d: got %d warnings in %q, want %d", start+1, got, said.String(), want)
				}
			}
		})
	}
}

func TestOpenRequiresInitialPassword(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		password Password
		own      Password
		blank    bool
		want     string
	}{
		{"none is refused, with the way out", "", "", false, "--allow-blank-password"},
		{"a weak one is refused", "password", "", false, "security.initial_user_password: password: must have at least 8"},
		{"a good one is taken, for both", first, "", false, ""},
		{"none is taken where that is allowed", "", "", true, ""},
		{"each has its own", first, "Another-1", false, ""},
		{"a weak one of determined is refused", first, "password", false, "security.initial_determined_password: password: must have at least 8"},
		{"only a password of determined", "", "Another-1", false, "--allow-blank-password"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			a, err := Open(t.Context(), Config{Store: s, InitialPassword: tt.password, DeterminedPassword: tt.own, AllowBlankPassword: tt.blank})
			if (tt.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if err != nil {
				return
			}
			login := func(name string, p Password) (*apiv1.User, error) {
				_, u, err := a.Login(t.Context(), &apiv1.LoginRequest{Username: name, Password: string(p)}, "x")
				return u, err
			}
			if u, err := login("Determined", cmp.Or(tt.own, tt.password)); err != nil || u.GetId() != 2 || u.GetAdmin() {
				t.Errorf("got %v, %v, want the user determined", u, err)
			}
			if u, err := login("admin", tt.password); err != nil || u.GetId() != 1 || !u.GetAdmin() {
				t.Errorf("got %v, %v, want the user admin", u, err)
			}
			if tt.own == "" {
				return
			}
			for name, p := range map[string]Password{"admin": tt.own, "determined": tt.password} {
				if u, err := login(name, p); err == nil {
					t.Errorf("got %v with the password of the other, want an error", u)
				}
			}
		})
	}
}

func TestBlankPasswordNeedsTheOption(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.AllowBlankPassword = true
	if _, err := w.PatchUser(t.Context(), w.admin(t), "", 2, &apiv1.PatchUser{Password: proto.String("")}); err != nil {
		t.Fatal(err)
	}
	w.must(t, "determined", "")
	w.restart(t)
	_, err := w.login(t.Context(), "determined", "")
	wantCode(t, err, status.Unauthenticated)
}

func TestLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.must(t, "admin", first)
	hashed := &apiv1.LoginRequest{Username: "admin", Password: password.Hash(first), IsHashed: true}
	if _, _, err := w.Login(t.Context(), hashed, "x"); err != nil {
		t.Errorf("a password hashed by the client: got %v", err)
	}
	w.restart(t)
	if u, _, err := w.UserOf(text); err != nil || u.GetUsername() != "admin" || u.GetLastAuthAt() == nil {
		t.Errorf("after a restart: got %v, %v, want admin", u, err)
	}
	for _, bad := range []string{"", "x", text + "x", strings.ToLower(text)} {
		_, _, err := w.UserOf(bad)
		wantCode(t, err, status.Unauthenticated)
	}
	w.pass(SessionLife)
	_, _, err := w.UserOf(text)
	wantCode(t, err, status.Unauthenticated)
	w.pass(time.Second)
	if err := w.Sweep(t.Context()); err != nil || len(w.sessions) != 0 || len(w.owned) != 0 {
		t.Errorf("after a sweep: got %d sessions, %v, want none", len(w.sessions), err)
	}
	text = w.must(t, "admin", first)
	if err := errors.Join(w.Logout(t.Context(), text), w.Logout(t.Context(), text)); err != nil {
		t.Errorf("logging out twice: got %v", err)
	}
	_, _, err = w.UserOf(text)
	wantCode(t, err, status.Unauthenticated)
}

func TestPasswordGuessingIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range wrongAtOnce {
		_, err := w.login(t.Context(), "admin", "wrong")
		wantCode(t, err, status.Unauthenticated)
	}
	_, err := w.login(t.Context(), "admin", first)
	wantCode(t, err, status.ResourceExhausted)
	r := &apiv1.LoginRequest{Username: "admin", Password: first}
	if _, _, err := w.Login(t.Context(), r, "10.0.0.1"); err != nil {
		t.Errorf("from another address: got %v, want a login", err)
	}
	w.must(t, "determined", first)
	w.pass(wrongEvery)
	w.must(t, "admin", first)
}

func TestRecordHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.must(t, "admin", first)
	docs, err := sessions.All(t.Context(), w.store)
	if err != nil {
		t.Fatal(err)
	}
	people, err := users.All(t.Context(), w.store)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%+v %+v", docs, people)
	for _, secret := range []string{text, first, password.Hash(first)} {
		if strings.Contains(all, secret) {
			t.Errorf("got a secret in the store: %s", all)
		}
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v %s", w.cfg, w.cfg, w.cfg.InitialPassword, w.cfg.InitialPassword), first) {
		t.Error("got the password in the printed configuration")
	}
}

func TestTaskTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, user, err := w.TaskTokens(t.Context(), 2, "t.1")
	if err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	if u, id, err := w.AllocationOf(string(own)); err != nil || id != "t.1" || u.GetId() != 2 {
		t.Errorf("got %v, %q, %v, want determined in t.1", u, id, err)
	}
	if u, _, err := w.UserOf(string(user)); err != nil || u.GetId() != 2 {
		t.Errorf("got %v, %v, want determined", u, err)
	}
	_, _, err = w.UserOf(string(own))
	wantCode(t, err, status.Unauthenticated)
	_, _, err = w.AllocationOf(string(user))
	wantCode(t, err, status.Unauthenticated)
	if err := w.EndAllocation(t.Context(), "t.1"); err != nil {
		t.Fatal(err)
	}
	_, _, err = w.UserOf(string(user))
	wantCode(t, err, status.Unauthenticated)
	_, _, err = w.AllocationOf(string(own))
	wantCode(t, err, status.Unauthenticated)
}
