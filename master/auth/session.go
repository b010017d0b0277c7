package auth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// SessionLife is how long a login lasts, as in Determined 0.38.1.
const SessionLife = 7 * 24 * time.Hour

// session is what is kept of a token; its id is the token's hash.
type session struct {
	Kind token.Kind `json:"kind"`
	User int32      `json:"user"`
	// Allocation is set on the tokens of a task, and ends them.
	Allocation string `json:"allocation,omitempty"`
	// Expires is zero for the tokens of a task.
	Expires time.Time `json:"expires,omitzero"`
	// Created is when a login showed the password, or a task's token was made.
	Created time.Time `json:"created,omitzero"`
	// Address is where a login came from.
	Address string `json:"address,omitempty"`
	// Used is when the token was last shown, as far as Sweep has stored it.
	Used time.Time `json:"used,omitzero"`
}

// liveSession is a session in memory; used is when its token was last shown, in
// nanoseconds, 0 for not since the start.
type liveSession struct {
	session
	used *atomic.Int64
}

var sessions = store.Collection[session]{Kind: "session"}

// owner is the parent under which a session is stored: the thing whose end ends it.
func (s session) owner() string {
	if s.Allocation != "" {
		return "allocation/" + s.Allocation
	}
	return fmt.Sprintf("user/%d", s.User)
}

func (a *Auth) loadSessions(ctx context.Context) error {
	docs, err := sessions.All(ctx, a.cfg.Store)
	for _, d := range docs {
		a.remember(token.Hash(d.ID), d.Value)
	}
	return err
}

func (a *Auth) remember(h token.Hash, s session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[h] = liveSession{session: s, used: new(atomic.Int64)}
	if a.owned[s.owner()] == nil {
		a.owned[s.owner()] = map[token.Hash]bool{}
	}
	a.owned[s.owner()][h] = true
}

func (a *Auth) forgetHash(h token.Hash) {
	a.mu.Lock()
	defer a.mu.Unlock()
	owner := a.sessions[h].owner()
	delete(a.sessions, h)
	delete(a.owned[owner], h)
	if len(a.owned[owner]) == 0 {
		delete(a.owned, owner)
	}
}

func (a *Auth) forgetOwner(owner string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for h := range a.owned[owner] {
		delete(a.sessions, h)
	}
	delete(a.owned, owner)
}

// Login exchanges a password for a token. Wrong ones are counted by user and
// address. The errors are of the codes Unauthenticated, PermissionDenied for a
// user who was deactivated, and ResourceExhausted.
func (a *Auth) Login(ctx context.Context, r *apiv1.LoginRequest, addr string) (token.Text, *apiv1.User, error) {
	u, err := a.verify(ctx, r, addr)
	if err != nil {
		return "", nil, err
	}
	// Who knows the password is told; to everybody else the user is as wrong as one
	// that does not exist.
	if !u.Active {
		return "", nil, status.New(status.PermissionDenied, "user is not active; ask an administrator to activate '%s'", u.Username)
	}
	now := a.cfg.Now()
	s := session{Kind: token.User, User: u.ID, Expires: now.Add(SessionLife), Created: now, Address: addr}
	text, hash := token.NewSession(s.Kind)
	a.change.Lock()
	defer a.change.Unlock()
	current, found := a.account(u.ID)
	if !found || !current.Active || current.Hash != u.Hash {
		return "", nil, errCredentials()
	}
	next := current.userRecord
	next.LastAuth = now
	over := a.surplus(s.owner())
	err = a.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if err := putUser(tx, next); err != nil {
			return err
		}
		for _, h := range over {
			if err := sessions.Delete(tx, string(h)); err != nil {
				return err
			}
		}
		return sessions.Put(tx, string(hash), s.owner(), s.Expires, s)
	})
	if err != nil {
		return "", nil, err
	}
	for _, h := range over {
		a.forgetHash(h)
	}
	a.keep(next)
	a.remember(hash, s)
	return text, next.show(), nil
}

// passwordLimit is above what anybody types and what clients send hashed.
const passwordLimit = 4 << 10

func errGuesses() error {
	return status.New(status.ResourceExhausted, "too many wrong passwords; wait %v between tries", wrongEvery)
}

func errCredentials() error { return status.New(status.Unauthenticated, "invalid credentials") }

func (a *Auth) verify(ctx context.Context, r *apiv1.LoginRequest, addr string) (*account, error) {
	sent := r.GetPassword()
	if len(r.GetUsername()) > nameLimit || len(sent) > passwordLimit {
		return nil, errCredentials() // nobody has such a name, and it is not remembered that it was tried
	}
	if !r.GetIsHashed() {
		sent = clientHash(sent)
	}
	v := visitor{user: plain(r.GetUsername()), addr: addr}
	if a.logins.blocked(v, a.cfg.Now()) {
		return nil, errGuesses()
	}
	leave, err := a.logins.enter(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer leave()
	if a.logins.blocked(v, a.cfg.Now()) { // by those who were before it
		return nil, errGuesses()
	}
	u, found := a.named(r.GetUsername())
	if !found || !a.right(u.Hash, sent) {
		if !found {
			derive(sent) // a name that does not exist must not answer faster
		}
		a.logins.failed(v, a.cfg.Now())
		return nil, errCredentials()
	}
	a.logins.succeeded(v)
	return u, nil
}

// surplus is the oldest logins of an owner, which end so that there is room for one more.
func (a *Auth) surplus(owner string) []token.Hash {
	a.mu.RLock()
	defer a.mu.RUnlock()
	n := len(a.owned[owner]) - a.cfg.MostSessions + 1
	if a.cfg.MostSessions == 0 || n <= 0 {
		return nil
	}
	oldest := slices.SortedFunc(maps.Keys(a.owned[owner]), func(x, y token.Hash) int {
		return a.sessions[x].Expires.Compare(a.sessions[y].Expires)
	})
	return oldest[:n]
}

// right also refuses a blank password that an earlier start of the master allowed.
func (a *Auth) right(stored, sent string) bool {
	if stored == blank {
		return a.cfg.AllowBlankPassword && sent == ""
	}
	return fits(stored, sent)
}

// UserOf is the user whose login this is. For the token of a user's tools inside a
// task it names the allocation too, and the user is no administrator: whoever reads
// a task's environment must not own the cluster. The error is of the code
// Unauthenticated. The message must not be changed.
func (a *Auth) UserOf(text string) (u *apiv1.User, allocation string, err error) {
	s, who, found := a.session(text)
	now := a.cfg.Now()
	if !found || s.Kind != token.User || !who.Active || s.expired(now) {
		return nil, "", errToken()
	}
	s.used.Store(now.UnixNano())
	if s.Allocation != "" {
		return who.inTask, s.Allocation, nil
	}
	return who.shown, "", nil
}

func (s session) expired(now time.Time) bool { return !s.Expires.IsZero() && !now.Before(s.Expires) }

// AllocationOf is the allocation whose token this is, with the user who owns it.
// It stays good when the user is deactivated, because the task's last lines are
// still wanted. The error is of the code Unauthenticated.
func (a *Auth) AllocationOf(text string) (*apiv1.User, string, error) {
	s, u, found := a.session(text)
	if !found || s.Kind != token.Allocation {
		return nil, "", errToken()
	}
	return u.shown, s.Allocation, nil
}

func errToken() error {
	return status.New(status.Unauthenticated, "this token is not valid, or no longer; log in again")
}

func (a *Auth) session(text string) (liveSession, *account, bool) {
	h := token.HashOf(token.Text(text))
	a.mu.RLock()
	defer a.mu.RUnlock()
	s, found := a.sessions[h]
	if !found {
		return s, nil, false
	}
	u, found := a.users[s.User]
	return s, u, found
}

// Logout ends a login. A token that is none is not an error.
func (a *Auth) Logout(ctx context.Context, text string) error {
	h := token.HashOf(token.Text(text))
	s, _, found := a.session(text)
	if !found || s.Allocation != "" {
		return nil
	}
	a.change.Lock()
	defer a.change.Unlock()
	err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error { return sessions.Delete(tx, string(h)) })
	if err == nil {
		a.forgetHash(h)
	}
	return err
}

func (a *Auth) dropOwner(ctx context.Context, owner string) error {
	// Memory first: a token must not outlive the answer that it is gone.
	a.forgetOwner(owner)
	return a.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := sessions.DeleteByParent(tx, owner)
		return err
	})
}
