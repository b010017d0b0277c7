// Package auth knows who may use the cluster: users with their passwords and
// logins, tasks with the tokens of their allocations, and the machines that have
// been admitted as agents.
//
// It keeps all of it in memory, because every request asks, and writes through to
// the store, because a restart must not log anybody out.
package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/api/password"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// Config is what Open needs.
type Config struct {
	Store *store.Store
	// InitialPassword is the first password of the user admin, DeterminedPassword that
	// of determined, which is the same where this is empty. They are used once, on an
	// empty store, and must keep the password rule.
	InitialPassword, DeterminedPassword Password
	// AllowBlankPassword lets users be without a password. That is for a master
	// that only its own machine can reach.
	AllowBlankPassword bool
	// MostSessions is how many logins one user has at a time, 0 for any number. The
	// next ends the oldest.
	MostSessions int
	// Attestors check the proofs of launched machines, by their form.
	Attestors map[string]cloud.Attestor
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Log may be nil.
	Log *slog.Logger
}

// Auth is safe for concurrent use. Each of its parts keeps its own records.
type Auth struct {
	*shared
	*accounts
	*tokens
	*admissions
	*joinTokens
	*signingKeys

	users *userTable
}

// shared is what all parts have in common.
type shared struct {
	cfg     Config
	cluster string

	// change is held by each change, from the look at what there is
	// until memory agrees with the store again. Readers never wait for it.
	change sync.Mutex
}

// newAuth connects the parts, which are empty.
func newAuth(cfg Config) *Auth {
	s := &shared{cfg: cfg, cluster: cfg.Store.Meta().ClusterID}
	users := &userTable{users: map[int32]*account{}, byName: map[string]int32{}, nextUser: 1}
	passwords := &passwords{shared: s, users: users, logins: newGate()}
	tokens := &tokens{
		shared: s, users: users, passwords: passwords,
		sessions: map[token.Hash]liveSession{}, owned: map[string]map[token.Hash]bool{},
	}
	keys := &signingKeys{shared: s}
	joins := &joinTokens{shared: s, signingKeys: keys, joins: map[string]joinRecord{}}
	return &Auth{
		shared: s, users: users, tokens: tokens, signingKeys: keys, joinTokens: joins,
		accounts: &accounts{shared: s, users: users, passwords: passwords, tokens: tokens},
		admissions: &admissions{
			shared: s, signingKeys: keys, joinTokens: joins,
			agents: map[string]agentRecord{}, revoked: map[string]revokedRecord{},
		},
	}
}

// ErrNoPassword is the refusal to make a cluster that anybody could log in to.
var ErrNoPassword = errors.New("an empty store needs a first password: " +
	"set security.initial_user_password (8 characters or more with upper case, lower case and a digit), " +
	"or start with --allow-blank-password where no other machine can reach the master")

// Open reads everything from the store, and fills an empty one with the users
// "admin" and "determined" and a first signing key. The store must be leased.
func Open(ctx context.Context, cfg Config) (*Auth, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := newAuth(cfg)
	for _, load := range []func(context.Context) error{
		func(ctx context.Context) error { return a.users.loadUsers(ctx, cfg.Store) },
		a.loadSessions, a.loadKeys, a.loadAgents, a.loadRevoked, a.loadTokens,
	} {
		if err := load(ctx); err != nil {
			return nil, fmt.Errorf("read who may use the cluster: %w", err)
		}
	}
	if err := a.seedStore(ctx); err != nil {
		return nil, fmt.Errorf("prepare who may use the cluster: %w", err)
	}
	return a, nil
}

// seedStore fills an empty store.
func (a *Auth) seedStore(ctx context.Context) error {
	if len(a.currentKey()) == 0 {
		if err := a.RotateKeys(ctx); err != nil {
			return err
		}
	}
	if len(a.users.users) > 0 {
		return nil
	}
	admin, determined, err := a.cfg.initialHashes()
	if err != nil {
		return err
	}
	now := a.cfg.Now()
	seeds := []userRecord{
		{ID: 1, Username: "admin", Admin: true, Active: true, Hash: admin, Modified: now},
		{ID: 2, Username: "determined", Active: true, Hash: determined, Modified: now},
	}
	err = a.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for _, u := range seeds {
			if err := putUser(tx, u); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, u := range seeds {
		a.users.keepUser(u)
	}
	a.cfg.Log.Info("created the users admin and determined", "blank_password", admin == blank, "one_password", admin == determined)
	if admin == determined && admin != blank {
		a.cfg.Log.Warn("admin and determined have one first password: change one, and give new clusters security.initial_determined_password")
	}
	return nil
}

// Sweep deletes the sessions and join tokens that have expired, and stores when the
// other sessions were last used. Nothing but space depends on it.
func (a *Auth) Sweep(ctx context.Context) error {
	a.change.Lock()
	defer a.change.Unlock()
	if err := errors.Join(a.storeLastUses(ctx), a.joinTokens.sweepExpired(ctx)); err != nil {
		return err
	}
	return a.tokens.sweepExpired(ctx)
}

// initialHashes are those of the first passwords of admin and determined.
func (c Config) initialHashes() (admin, determined string, err error) {
	if c.InitialPassword == "" && !c.AllowBlankPassword {
		return "", "", ErrNoPassword
	}
	if admin, err = initialHash("security.initial_user_password", c.InitialPassword); err != nil {
		return "", "", err
	}
	if c.DeterminedPassword == "" {
		return admin, admin, nil
	}
	determined, err = initialHash("security.initial_determined_password", c.DeterminedPassword)
	return admin, determined, err
}

// initialHash is that of p, which the setting at path gives.
func initialHash(path string, p Password) (string, error) {
	if p == "" {
		return blank, nil
	}
	if err := p.checkRule(); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hashPassword(password.Hash(string(p))), nil
}
