package auth

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestALongNameIsWrongAtOnceAndNotRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		_, err := w.login(t.Context(), strings.Repeat("x", 1<<20), "wrong")
		wantCode(t, err, status.Unauthenticated)
	}
	_, err := w.login(t.Context(), "admin", strings.Repeat("x", 1<<20))
	wantCode(t, err, status.Unauthenticated)
	if n := len(w.accounts.passwords.logins.wrong); n != 0 {
		t.Errorf("got %d remembered, want none", n)
	}
}

func TestARightPasswordPassesWhileTheNameIsGuessedAtFromElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := w.cfg.Now()
	for i := range 4 * widelyAtOnce {
		w.accounts.passwords.logins.countFailure(visitor{"admin", fmt.Sprintf("10.0.0.%d", i%40)}, now)
	}
	if !w.accounts.passwords.logins.isBlocked(visitor{"admin", "10.0.0.1"}, now) {
		t.Error("a guesser is not blocked")
	}
	fresh := visitor{"admin", "192.0.2.1"}
	w.accounts.passwords.logins.countFailure(fresh, now)
	w.accounts.passwords.logins.countFailure(fresh, now)
	if !w.accounts.passwords.logins.isBlocked(fresh, now) {
		t.Error("a third guess from a new address is heard while the name is guessed at")
	}
	w.must(t, "admin", first)
}

func TestAnAddressThatGuessesAtManyIsSlowedDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := w.cfg.Now()
	for i := range widelyAtOnce {
		w.accounts.passwords.logins.countFailure(visitor{fmt.Sprintf("user-%d", i/2), "10.0.0.1"}, now)
	}
	if !w.accounts.passwords.logins.isBlocked(visitor{"user-1", "10.0.0.1"}, now) || w.accounts.passwords.logins.isBlocked(visitor{"user-1", "10.0.0.2"}, now) {
		t.Error("want the address blocked, and no other")
	}
}

func TestOneAddressDoesNotCloseLoginToOthers(t *testing.T) {
	t.Parallel()
	g := newGate(nil)
	for range hashesEach {
		if !g.wait("10.0.0.1") {
			t.Fatal("an address has fewer places than it may")
		}
	}
	if g.wait("10.0.0.1") || !g.wait("10.0.0.2") {
		t.Error("want the address refused, and the other one let in")
	}
	for range hashesEach {
		g.done("10.0.0.1")
	}
	g.done("10.0.0.2")
	if g.waiting != 0 || len(g.from) != 0 {
		t.Errorf("got %d waiting and %v, want none", g.waiting, g.from)
	}
}

func TestWhatIsRememberedOfGuessersIsBounded(t *testing.T) {
	t.Parallel()
	g, now := newGate(nil), time.Unix(0, 0)
	for i := range 3 * remembered {
		g.countFailure(visitor{fmt.Sprintf("user-%d", i), fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)}, now)
	}
	if n := len(g.wrong); n > remembered {
		t.Errorf("got %d, want at most %d", n, remembered)
	}
}

func TestTheOldestLoginEndsWhenAUserHasTooMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.MostSessions = 2
	var tokens []string
	for range 3 {
		tokens = append(tokens, w.must(t, "admin", first))
		w.pass(time.Minute)
	}
	other := w.must(t, "determined", first)
	for i, text := range append(tokens, other) {
		if _, _, err := w.UserOf(text); (err == nil) != (i > 0) {
			t.Errorf("login %d: got %v, want the first alone ended", i, err)
		}
	}
	w.restart(t)
	if _, _, err := w.UserOf(tokens[0]); err == nil {
		t.Error("the ended login is back after a restart")
	}
	_, err := w.CreateUser(t.Context(), w.admin(t), &apiv1.PostUserRequest{User: &apiv1.User{Username: strings.Repeat("x", 1<<20)}})
	if err == nil || len(err.Error()) > 400 {
		t.Errorf("a long name: got %.100v", err)
	}
}
