// Package auth authenticates users by passwords and sessions, tasks by the tokens of their
// allocations, and machines by their admission as agents.
//
// It keeps all records in memory, because every request needs them, and writes them through to the
// store, so that a restart does not log out users.
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

// Config configures Open.
type Config struct {
	Store *store.Store
	// InitialPassword is the initial password of admin, and DeterminedPassword that of determined;
	// if the latter is empty, both are the same. They are used once, for an empty store, and must
	// satisfy the password rule.
	InitialPassword, DeterminedPassword Password
	// AllowBlankPassword allows users without a password, for a master that only its own machine
	// can reach.
	AllowBlankPassword bool
	// MostSessions is the maximum number of sessions per user, or 0 for no limit. Another login
	// ends the oldest.
	MostSessions int
	// Attestors verify the proofs of launched machines, by kind of proof.
	Attestors map[string]cloud.Attestor
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// Log may be nil.
	Log *slog.Logger
}

// Auth is safe for concurrent use. Each of its parts has its own records.
type Auth struct {
	*shared
	*accounts
	*tokens
	*admissions
	*joinTokens
	*signingKeys
	*tickets

	users *userTable
}

// shared holds the fields that all parts use.
type shared struct {
	cfg     Config
	cluster string

	// change is held by each change, from reading the state until memory agrees with the store
	// again. Readers never wait for it.
	change sync.Mutex
}

// newAuth returns an Auth without records.
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
		shared: s, users: users, tokens: tokens, signingKeys: keys, joinTokens: joins, tickets: &tickets{shared: s, logins: tokens, keys: keys},
		accounts: &accounts{shared: s, users: users, passwords: passwords, tokens: tokens},
		admissions: &admissions{
			shared: s, signingKeys: keys, joinTokens: joins,
			agents: map[string]agentRecord{}, revoked: map[string]revokedRecord{},
		},
	}
}

// ErrNoPassword reports that a new cluster would have no password.
var ErrNoPassword = errors.New("a new database needs an initial password: " +
	"set security.initial_user_password (8 characters or more with upper case, lower case and a digit), " +
	"or start with --allow-blank-password where no other machine can reach the master")

// Open reads all records from the store. In an empty store, it creates the users "admin" and
// "determined" and the first signing key. The store must be leased.
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
			return nil, fmt.Errorf("read users and credentials: %w", err)
		}
	}
	if err := a.seedStore(ctx); err != nil {
		return nil, fmt.Errorf("initialize users and credentials: %w", err)
	}
	return a, nil
}

// seedStore initializes an empty store.
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
		a.cfg.Log.Warn("admin and determined have the same initial password; change one, and set security.initial_determined_password for new clusters")
	}
	return nil
}

// Sweep deletes expired sessions and join tokens, and stores the last use of the other sessions. It
// only saves space.
func (a *Auth) Sweep(ctx context.Context) error {
	a.change.Lock()
	defer a.change.Unlock()
	if err := errors.Join(a.storeLastUses(ctx), a.joinTokens.sweepExpired(ctx)); err != nil {
		return err
	}
	return a.tokens.sweepExpired(ctx)
}

// initialHashes returns the hashes of the initial passwords of admin and determined.
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

// initialHash returns the hash of p, the value of the setting at path.
func initialHash(path string, p Password) (string, error) {
	if p == "" {
		return blank, nil
	}
	if err := p.checkRule(); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hashPassword(password.Hash(string(p))), nil
}
