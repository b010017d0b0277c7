package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// SessionLife is the lifetime of a login, as in Determined 0.38.1.
const SessionLife = 7 * 24 * time.Hour

// session is the record of a token; its ID is the token's hash.
type session struct {
	Kind token.Kind `json:"kind"`
	User int32      `json:"user"`
	// Allocation is set for the tokens of a task, which end with it.
	Allocation string `json:"allocation,omitempty"`
	// Expires is zero for the tokens of a task.
	Expires time.Time `json:"expires,omitzero"`
	// Created is the time of the login, or of the creation of a task's token.
	Created time.Time `json:"created,omitzero"`
	// Address is the address from which the user logged in.
	Address string `json:"address,omitempty"`
	// Used is the last use of the token that Sweep has stored.
	Used time.Time `json:"used,omitzero"`
}

// liveSession is a session in memory. used is the last use of its token since the start, in
// nanoseconds, or 0.
type liveSession struct {
	session
	used *atomic.Int64
}

// tokens manages the tokens of logins and of tasks.
type tokens struct {
	*shared

	users     *userTable
	passwords *passwords

	mu       sync.RWMutex
	sessions map[token.Hash]liveSession
	owned    map[string]map[token.Hash]bool // by owner
}

var sessions = store.Collection[session]{Kind: "session"}

// ownerParent returns the parent of a stored session, which is deleted with it.
func (s session) ownerParent() string {
	if s.Allocation != "" {
		return "allocation/" + s.Allocation
	}
	return fmt.Sprintf("user/%d", s.User)
}

func (t *tokens) loadSessions(ctx context.Context) error {
	docs, err := sessions.All(ctx, t.cfg.Store)
	for _, d := range docs {
		t.keepSession(token.Hash(d.ID), d.Value)
	}
	return err
}

func (t *tokens) keepSession(h token.Hash, s session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sessions[h] = liveSession{session: s, used: new(atomic.Int64)}
	if t.owned[s.ownerParent()] == nil {
		t.owned[s.ownerParent()] = map[token.Hash]bool{}
	}
	t.owned[s.ownerParent()][h] = true
}

func (t *tokens) forgetHash(h token.Hash) {
	t.mu.Lock()
	defer t.mu.Unlock()
	owner := t.sessions[h].ownerParent()
	delete(t.sessions, h)
	delete(t.owned[owner], h)
	if len(t.owned[owner]) == 0 {
		delete(t.owned, owner)
	}
}

func (t *tokens) forgetOwner(owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for h := range t.owned[owner] {
		delete(t.sessions, h)
	}
	delete(t.owned, owner)
}

// Login exchanges a password for a token. Failures are counted by user and address. It returns an
// error of code Unauthenticated, PermissionDenied for a deactivated user, or ResourceExhausted.
func (t *tokens) Login(ctx context.Context, r *apiv1.LoginRequest, addr string) (token.Text, *apiv1.User, error) {
	// Another login may have renewed the hash, or the user may have changed the password: compare
	// with the current hash again.
	for range loginTries {
		text, u, err := t.logIn(ctx, r, addr)
		if !errors.Is(err, errHashChanged) {
			return text, u, err
		}
	}
	return "", nil, errCredentials()
}

// loginTries is one more than the number of concurrent password changes that a login survives.
const loginTries = 3

// errHashChanged reports that the user's hash has changed since the comparison.
var errHashChanged = errors.New("the password has changed meanwhile")

func (t *tokens) logIn(ctx context.Context, r *apiv1.LoginRequest, addr string) (token.Text, *apiv1.User, error) {
	u, renewed, err := t.passwords.verifyPassword(ctx, r, addr)
	if err != nil {
		return "", nil, err
	}
	// Only a caller with the right password learns this; for others, the response is the same as
	// for an unknown user.
	if !u.Active {
		return "", nil, status.New(status.PermissionDenied, "user is not active; ask an administrator to activate '%s'", u.Username)
	}
	now := t.cfg.Now()
	s := session{Kind: token.User, User: u.ID, Expires: now.Add(SessionLife), Created: now, Address: addr}
	text, hash := token.NewSession(s.Kind)
	t.change.Lock()
	defer t.change.Unlock()
	current, found := t.users.findUser(u.ID)
	if !found || !current.Active {
		return "", nil, errCredentials()
	}
	if current.Hash != u.Hash {
		return "", nil, errHashChanged
	}
	next := current.userRecord
	next.LastAuth, next.Hash = now, cmp.Or(renewed, current.Hash)
	over := t.findSurplus(s.ownerParent())
	err = t.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if err := putUser(tx, next); err != nil {
			return err
		}
		for _, h := range over {
			if err := sessions.Delete(tx, string(h)); err != nil {
				return err
			}
		}
		return sessions.Put(tx, string(hash), s.ownerParent(), s.Expires, s)
	})
	if err != nil {
		return "", nil, err
	}
	for _, h := range over {
		t.forgetHash(h)
	}
	t.users.keepUser(next)
	t.keepSession(hash, s)
	return text, next.toAPI(), nil
}

// findSurplus returns the oldest logins of an owner, which end to make room for one more.
func (t *tokens) findSurplus(owner string) []token.Hash {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := len(t.owned[owner]) - t.cfg.MostSessions + 1
	if t.cfg.MostSessions == 0 || n <= 0 {
		return nil
	}
	oldest := slices.SortedFunc(maps.Keys(t.owned[owner]), func(x, y token.Hash) int {
		return t.sessions[x].Expires.Compare(t.sessions[y].Expires)
	})
	return oldest[:n]
}

// UserOf returns the user of a login. For the token of a user's tools inside a task, it also
// returns the allocation, and the user is not an administrator, because reading a task's
// environment must not grant control of the cluster. It returns an error of code Unauthenticated.
// The message must not be changed.
func (t *tokens) UserOf(text string) (u *apiv1.User, allocation string, err error) {
	return t.userOfHash(token.HashOf(token.Text(text)))
}

// userOfHash is UserOf by the hash of the token.
func (t *tokens) userOfHash(h token.Hash) (u *apiv1.User, allocation string, err error) {
	s, who, found := t.findHash(h)
	now := t.cfg.Now()
	if !found || s.Kind != token.User || !who.Active || s.hasExpired(now) {
		return nil, "", errToken()
	}
	s.used.Store(now.UnixNano())
	if s.Allocation != "" {
		return who.inTask, s.Allocation, nil
	}
	return who.shown, "", nil
}

func (s session) hasExpired(now time.Time) bool { return !s.Expires.IsZero() && !now.Before(s.Expires) }

// AllocationOf returns the user and allocation of an allocation's token. The token stays valid when
// the user is deactivated, because the task's last lines are still needed. It returns an error of
// code Unauthenticated.
func (t *tokens) AllocationOf(text string) (*apiv1.User, string, error) {
	s, u, found := t.findSession(text)
	if !found || s.Kind != token.Allocation {
		return nil, "", errToken()
	}
	return u.shown, s.Allocation, nil
}

func errToken() error {
	return status.New(status.Unauthenticated, "this token is not valid, or no longer; log in again")
}

func (t *tokens) findSession(text string) (liveSession, *account, bool) {
	return t.findHash(token.HashOf(token.Text(text)))
}

func (t *tokens) findHash(h token.Hash) (liveSession, *account, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s, found := t.sessions[h]
	if !found {
		return s, nil, false
	}
	u, found := t.users.findUser(s.User)
	return s, u, found
}

// Logout ends a login. It does not return an error for an unknown token.
func (t *tokens) Logout(ctx context.Context, text string) error {
	h := token.HashOf(token.Text(text))
	s, _, found := t.findSession(text)
	if !found || s.Allocation != "" {
		return nil
	}
	t.change.Lock()
	defer t.change.Unlock()
	err := t.cfg.Store.Write(ctx, func(tx *store.Tx) error { return sessions.Delete(tx, string(h)) })
	if err == nil {
		t.forgetHash(h)
	}
	return err
}

func (t *tokens) dropOwner(ctx context.Context, owner string) error {
	// Memory first: a token must not be valid after the response to its deletion.
	t.forgetOwner(owner)
	return t.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := sessions.DeleteByParent(tx, owner)
		return err
	})
}

// TaskTokens creates the two tokens of an allocation: one for its own processes, and one for the
// user's tools inside it. Another call creates two more; EndAllocation ends all of them.
func (t *tokens) TaskTokens(ctx context.Context, userID int32, allocation string) (own, user token.Text, err error) {
	own, user, keep, err := t.NewTaskTokens(userID, allocation)
	if err == nil {
		err = t.cfg.Store.Write(ctx, keep)
	}
	if err != nil {
		return "", "", err
	}
	return own, user, nil
}

// NewTaskTokens is TaskTokens for a caller with its own transaction: the tokens are valid once the
// transaction with keep is committed.
func (t *tokens) NewTaskTokens(userID int32, allocation string) (own, user token.Text, keep func(*store.Tx) error, err error) {
	if allocation == "" {
		return "", "", nil, status.New(status.InvalidArgument, "an allocation is needed")
	}
	if _, found := t.users.findUser(userID); !found {
		return "", "", nil, status.Missing("user", fmt.Sprint(userID))
	}
	made, now := map[token.Hash]session{}, t.cfg.Now()
	issue := func(k token.Kind) token.Text {
		text, h := token.NewSession(k)
		made[h] = session{Kind: k, User: userID, Allocation: allocation, Created: now}
		return text
	}
	own, user = issue(token.Allocation), issue(token.User)
	return own, user, func(tx *store.Tx) error {
		for h, s := range made {
			if err := sessions.Put(tx, string(h), s.ownerParent(), time.Time{}, s); err != nil {
				return err
			}
		}
		tx.OnEnd(func(err error) {
			if err != nil {
				return
			}
			for h, s := range made {
				t.keepSession(h, s)
			}
		})
		return nil
	}, nil
}

// DropAllocation ends the tokens of an allocation in memory at once, and in the store with the
// transaction that contains drop.
func (t *tokens) DropAllocation(allocation string) (drop func(*store.Tx) error) {
	owner := session{Allocation: allocation}.ownerParent()
	t.forgetOwner(owner) // memory first, as in dropOwner
	return func(tx *store.Tx) error {
		_, err := sessions.DeleteByParent(tx, owner)
		return err
	}
}

// EndAllocation ends the tokens of an allocation, if it has any.
func (t *tokens) EndAllocation(ctx context.Context, allocation string) error {
	return t.dropOwner(ctx, session{Allocation: allocation}.ownerParent())
}
