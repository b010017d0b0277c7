package auth

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/share"
)

func TestLoginRejectsLongNameWithoutCounting(t *testing.T) {
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

func TestRightPasswordIsAcceptedDuringGuessing(t *testing.T) {
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

func TestAddressGuessingManyUsersIsBlocked(t *testing.T) {
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

// logIn queues a login from an address and records its outcome.
func (c *line) logIn(name, address string) {
	go func() {
		leave, err := c.acquireHash(c.ctx, share.GroupOf(address))
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			c.refused = append(c.refused, name)
			return
		}
		c.began = append(c.began, name)
		c.leave = append(c.leave, leave)
	}()
	synctest.Wait()
}

// line is a gate and its logins in order.
type line struct {
	*gate
	ctx            context.Context //nolint:containedctx // of one test
	mu             sync.Mutex
	began, refused []string
	leave          []func()
}

// endFirst ends the login that has computed the longest.
func (c *line) endFirst() {
	c.mu.Lock()
	leave := c.leave[0]
	c.leave = c.leave[1:]
	c.mu.Unlock()
	leave()
	synctest.Wait()
}

// Twenty addresses with the maximum number of logins queue behind a login from another address, and
// yield places to it.
func TestManyAddressesDoNotBlockOtherLogins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &line{gate: newGate(), ctx: ctx}
		for i := range 20 {
			for range hashesEach + 1 {
				c.logIn("stranger", fmt.Sprintf("10.0.0.%d", i))
			}
		}
		if got := c.hashes.Taken(); got > hashesWaiting || len(c.refused) < 20 || len(c.began) != hashesAtOnce {
			t.Errorf("got %d waiting, %d refused and %d computing", got, len(c.refused), len(c.began))
		}
		for i, address := range []string{"192.0.2.1", "2001:db8::1"} {
			c.logIn(fmt.Sprint("user-", i), address)
			c.endFirst()
			if got := c.began[len(c.began)-1]; got != fmt.Sprint("user-", i) {
				t.Errorf("got %s next, want the user of %s", got, address)
			}
		}
		cancel()
		synctest.Wait()
		for len(c.leave) > 0 {
			c.endFirst()
		}
		if got := c.hashes.Taken(); got != 0 || c.computing != 0 || len(c.queue) != 0 {
			t.Errorf("got %d places taken, %d computing and %d queued, want none", got, c.computing, len(c.queue))
		}
	})
}

func TestGuessersInOneNetworkAreCountedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range wrongAtOnce {
		_, _, err := w.Login(t.Context(), &apiv1.LoginRequest{Username: "admin", Password: "wrong"}, fmt.Sprintf("2001:db8::%d", i))
		wantCode(t, err, status.Unauthenticated)
	}
	_, _, err := w.Login(t.Context(), &apiv1.LoginRequest{Username: "admin", Password: first}, "2001:db8::ffff")
	wantCode(t, err, status.ResourceExhausted)
	if _, _, err := w.Login(t.Context(), &apiv1.LoginRequest{Username: "admin", Password: first}, "2001:db8:0:1::1"); err != nil {
		t.Errorf("from another network: %v", err)
	}
}

func TestCountersAreLimited(t *testing.T) {
	t.Parallel()
	g, now := newGate(), time.Unix(0, 0)
	for i := range 3 * remembered {
		g.countFailure(visitor{fmt.Sprintf("user-%d", i), fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)}, now)
	}
	if n := len(g.wrong); n > remembered {
		t.Errorf("got %d, want at most %d", n, remembered)
	}
}

func TestMostSessionsEndsTheOldest(t *testing.T) {
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
