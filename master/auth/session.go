package auth

import (
	"context"
	"fmt"
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
	a.sessions[h] = s
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
	if !u.Active {
		return "", nil, status.New(status.PermissionDenied, "user '%s' is not active; ask an administrator", u.Username)
	}
	now := a.cfg.Now()
	s := session{Kind: token.User, User: u.ID, Expires: now.Add(SessionLife)}
	text, hash := token.NewSession(s.Kind)
	a.change.Lock()
	defer a.change.Unlock()
	current, found := a.account(u.ID)
	if !found || !current.Active || current.Hash != u.Hash {
		return "", nil, errCredentials()
	}
	next := current.userRecord
	next.LastAuth = now
	err = a.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if err := putUser(tx, next); err != nil {
			return err
		}
		return sessions.Put(tx, string(hash), s.owner(), s.Expires, s)
	})
	if err != nil {
		return "", nil, err
	}
	a.keep(next)
	a.remember(hash, s)
	return text, next.show(), nil
}

func errCredentials() error { return status.New(status.Unauthenticated, "invalid credentials") }

func (a *Auth) verify(ctx context.Context, r *apiv1.LoginRequest, addr string) (*account, error) {
	sent := r.GetPassword()
	if !r.GetIsHashed() {
		sent = clientHash(sent)
	}
	v := visitor{user: plain(r.GetUsername()), addr: addr}
	leave, err := a.logins.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if a.logins.blocked(v, a.cfg.Now()) {
		return nil, status.New(status.ResourceExhausted, "too many wrong passwords; wait %v between tries", wrongEvery)
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

// right also refuses a blank password that an earlier start of the master allowed.
func (a *Auth) right(stored, sent string) bool {
	if stored == blank {
		return a.cfg.AllowBlankPassword && sent == ""
	}
	return fits(stored, sent)
}

// UserOf is the user whose login, or whose task's user token, this is. The error
// is of the code Unauthenticated. The message must not be changed.
func (a *Auth) UserOf(text string) (*apiv1.User, error) {
	s, u, found := a.session(text)
	if !found || s.Kind != token.User || !u.Active || (!s.Expires.IsZero() && !a.cfg.Now().Before(s.Expires)) {
		return nil, errToken()
	}
	return u.shown, nil
}

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

func (a *Auth) session(text string) (session, *account, bool) {
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

// TaskTokens makes the two tokens of an allocation: the one its own processes show,
// and one with which its user's tools work inside it. Asked again it makes two
// more; all of them end with EndAllocation.
func (a *Auth) TaskTokens(ctx context.Context, userID int32, allocation string) (own, user token.Text, err error) {
	if allocation == "" {
		return "", "", status.New(status.InvalidArgument, "an allocation is needed")
	}
	if _, found := a.account(userID); !found {
		return "", "", status.Missing("user", fmt.Sprint(userID))
	}
	made := map[token.Hash]session{}
	issue := func(k token.Kind) token.Text {
		text, h := token.NewSession(k)
		made[h] = session{Kind: k, User: userID, Allocation: allocation}
		return text
	}
	own, user = issue(token.Allocation), issue(token.User)
	err = a.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for h, s := range made {
			if err := sessions.Put(tx, string(h), s.owner(), time.Time{}, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", "", err
	}
	for h, s := range made {
		a.remember(h, s)
	}
	return own, user, nil
}

// EndAllocation ends the tokens of an allocation. One without is not an error.
func (a *Auth) EndAllocation(ctx context.Context, allocation string) error {
	return a.dropOwner(ctx, session{Allocation: allocation}.owner())
}

func (a *Auth) dropLogins(ctx context.Context, id int32) error {
	return a.dropOwner(ctx, session{User: id}.owner())
}

func (a *Auth) dropOwner(ctx context.Context, owner string) error {
	// Memory first: a token must not outlive the answer that it is gone.
	a.forgetOwner(owner)
	return a.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := sessions.DeleteByParent(tx, owner)
		return err
	})
}

// Sweep deletes the logins that have expired. It is called now and then; nothing
// but space depends on it.
func (a *Auth) Sweep(ctx context.Context) error {
	a.change.Lock()
	defer a.change.Unlock()
	docs, err := sessions.Before(ctx, a.cfg.Store, a.cfg.Now())
	if err != nil || len(docs) == 0 {
		return err
	}
	err = a.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for _, d := range docs {
			if err := sessions.Delete(tx, d.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range docs {
		a.forgetHash(token.Hash(d.ID))
	}
	return nil
}
