package auth

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// usedStep is the resolution of a session's last use: fine enough to recognize a stranger's login,
// and coarse enough to need few writes.
const usedStep = 10 * time.Minute

// sessionName returns the public name of a session: a part of the token's hash, which does not
// reveal the token.
func sessionName(h token.Hash) string { return string(h[:16]) }

// Sessions returns the logins of a user and the tokens of the user's tools inside tasks, newest
// first. Users may list their own, administrators all. Text is the caller's token.
func (t *tokens) Sessions(by *apiv1.User, text string, id int32) ([]*apiv1.Session, error) {
	if err := t.mayEnd(by, id); err != nil {
		return nil, err
	}
	asks := token.HashOf(token.Text(text))
	list := []*apiv1.Session{}
	for h, s := range t.sessionsOf(id) {
		m := s.toAPI(h)
		m.Current = h == asks
		list = append(list, m)
	}
	slices.SortFunc(list, func(x, y *apiv1.Session) int {
		return cmp.Or(y.GetCreatedAt().AsTime().Compare(x.GetCreatedAt().AsTime()), cmp.Compare(x.GetId(), y.GetId()))
	})
	return list, nil
}

// EndSession ends a session by name, or all for the name "all", and returns the number of ended
// sessions. It returns an error of code PermissionDenied or NotFound.
func (t *tokens) EndSession(ctx context.Context, by *apiv1.User, id int32, name string) (int, error) {
	if err := t.mayEnd(by, id); err != nil {
		return 0, err
	}
	t.change.Lock()
	defer t.change.Unlock()
	var ended []token.Hash
	for h := range t.sessionsOf(id) {
		if name == "all" || name == sessionName(h) {
			ended = append(ended, h)
		}
	}
	if len(ended) == 0 && name != "all" {
		return 0, status.Missing("session", name)
	}
	return len(ended), t.dropSessions(ctx, ended)
}

func (t *tokens) mayEnd(by *apiv1.User, id int32) error {
	if by.GetId() != id && !by.GetAdmin() {
		return status.New(status.PermissionDenied, "only administrators may list or end the sessions of other users")
	}
	if _, found := t.users.findUser(id); !found {
		return status.Missing("user", strconv.Itoa(int(id)))
	}
	return nil
}

// sessionsOf returns all tokens that act as the user, without those of tasks themselves.
func (t *tokens) sessionsOf(id int32) map[token.Hash]liveSession {
	now := t.cfg.Now()
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := map[token.Hash]liveSession{}
	for h, s := range t.sessions {
		if s.User == id && s.Kind == token.User && !s.hasExpired(now) {
			out[h] = s
		}
	}
	return out
}

// dropUserTokens ends all tokens that act as the user.
func (t *tokens) dropUserTokens(ctx context.Context, id int32) error {
	var all []token.Hash
	for h := range t.sessionsOf(id) {
		all = append(all, h)
	}
	return t.dropSessions(ctx, all)
}

// dropSessions must be called with change held.
func (t *tokens) dropSessions(ctx context.Context, all []token.Hash) error {
	if len(all) == 0 {
		return nil
	}
	// Memory first: a token must not be valid after the response to its deletion.
	for _, h := range all {
		t.forgetHash(h)
	}
	return t.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for _, h := range all {
			if err := sessions.Delete(tx, string(h)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s liveSession) toAPI(h token.Hash) *apiv1.Session {
	m := &apiv1.Session{Id: sessionName(h), Address: s.Address, AllocationId: s.Allocation}
	if at := s.createdAt(); !at.IsZero() {
		m.CreatedAt = timestamppb.New(at)
	}
	if !s.Expires.IsZero() {
		m.ExpiresAt = timestamppb.New(s.Expires)
	}
	if at := s.lastUse(); at.After(s.createdAt()) {
		m.LastUsedAt = timestamppb.New(at)
	}
	return m
}

// createdAt returns the time of a login. It derives that from the expiry for sessions of earlier
// versions, which have the same lifetime.
func (s session) createdAt() time.Time {
	if s.Created.IsZero() && !s.Expires.IsZero() {
		return s.Expires.Add(-SessionLife)
	}
	return s.Created
}

func (s liveSession) lastUse() time.Time {
	if n := s.used.Load(); n != 0 {
		return time.Unix(0, n).UTC().Truncate(usedStep)
	}
	return s.Used
}

// storeLastUses must be called with change held, so that it does not store sessions that were ended
// meanwhile. The end of a task does not wait for change, so the sessions are looked up again.
func (t *tokens) storeLastUses(ctx context.Context) error {
	stale := map[token.Hash]session{}
	t.mu.RLock()
	for h, s := range t.sessions {
		if at := s.lastUse(); s.Allocation == "" && at.After(s.Used) {
			s.Used = at
			stale[h] = s.session
		}
	}
	t.mu.RUnlock()
	if len(stale) == 0 {
		return nil
	}
	err := t.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for h, s := range stale {
			if err := sessions.Put(tx, string(h), s.ownerParent(), s.Expires, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for h, s := range stale {
		if l, found := t.sessions[h]; found {
			t.sessions[h] = liveSession{session: s, used: l.used}
		}
	}
	return nil
}

// sweepExpired deletes expired sessions. The caller holds change.
func (t *tokens) sweepExpired(ctx context.Context) error {
	expired, err := deleteExpired(ctx, t.cfg.Store, sessions, t.cfg.Now())
	for _, d := range expired {
		t.forgetHash(token.Hash(d.ID))
	}
	return err
}

// deleteExpired deletes the expired documents and returns them.
func deleteExpired[T any](ctx context.Context, s *store.Store, c store.Collection[T], now time.Time) ([]store.Doc[T], error) {
	over, err := c.Before(ctx, s, now)
	if err != nil || len(over) == 0 {
		return nil, err
	}
	err = s.Write(ctx, func(tx *store.Tx) error {
		for _, d := range over {
			if err := c.Delete(tx, d.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return over, nil
}
