package auth

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// joinRecord is what is kept of a join token, under its id; the token itself is not.
// One that was made beside the running master has none until it is first used.
type joinRecord struct {
	Pool    string    `json:"pool"`
	Expires time.Time `json:"expires"`
	// Uses is how many machines may join; 0 is any number. Used is how many have.
	Uses int `json:"uses,omitempty"`
	Used int `json:"used,omitempty"`
	// Created and By are empty for a token that was made beside the running master.
	Created time.Time `json:"created,omitzero"`
	By      string    `json:"by,omitempty"`
	// LastUsed and LastAgent are the last machine that joined.
	LastUsed  time.Time `json:"last_used,omitzero"`
	LastAgent string    `json:"last_agent,omitempty"`
	Revoked   time.Time `json:"revoked,omitzero"`
	RevokedBy string    `json:"revoked_by,omitempty"`
}

func joins() store.Collection[joinRecord] {
	return store.Collection[joinRecord]{Kind: "join_token"}
}

func putJoin(tx *store.Tx, id string, rec joinRecord) error {
	return joins().Put(tx, id, rec.Pool, rec.Expires, rec)
}

func (a *Auth) loadJoins(ctx context.Context) error {
	docs, err := joins().All(ctx, a.cfg.Store)
	for _, d := range docs {
		a.joins[d.ID] = d.Value
	}
	return err
}

// joinOf is what is known of a token; of one that is seen for the first time it is
// what the token itself says.
func (a *Auth) joinOf(j token.Join) joinRecord {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if rec, found := a.joins[j.ID]; found {
		return rec
	}
	return joinRecord{Pool: j.Pool, Expires: j.Expires, Uses: j.Uses}
}

// joinAgain is how long an agent may join again with a token that is used up: its
// credential may have been lost with the answer that carried it.
const joinAgain = 2 * time.Minute

// repeats says that the agent that joined last with a token is back without having
// shown what it got for it.
func (r agentRecord) repeats(j token.Join, now time.Time) bool {
	return r.Join == j.ID && now.Sub(r.Issued) < joinAgain
}

func (a *Auth) judgeJoin(g grant, rec agentRecord) error {
	j := a.joinOf(*g.join)
	switch {
	case !j.Revoked.IsZero():
		return status.New(status.Unauthenticated,
			"agent '%s' is not admitted: its join token %s has been revoked; give it a new join token", g.Agent, g.join.ID)
	case j.Uses > 0 && j.Used >= j.Uses && !rec.repeats(*g.join, a.cfg.Now()):
		return status.New(status.Unauthenticated,
			"agent '%s' is not admitted: its join token %s was for %d machines, and as many have joined; give it a new join token",
			g.Agent, g.join.ID, j.Uses)
	}
	return nil
}

// useOf counts the machine in.
func (a *Auth) useOf(g grant, before agentRecord) *joinRecord {
	rec, now := a.joinOf(*g.join), a.cfg.Now()
	if !before.repeats(*g.join, now) {
		rec.Used++
	}
	rec.LastUsed, rec.LastAgent = now, g.Agent
	return &rec
}

// NewJoin is what a join token is to be.
type NewJoin struct {
	Pool string
	Life time.Duration
	// Uses is how many machines may join with it; 0 is any number.
	Uses int
	// By is who asks for it.
	By string
}

// maxUses is above any cluster, and keeps a slip of the pen from being a number.
const maxUses = 100_000

func (n NewJoin) validate() error {
	switch {
	case n.Pool == "" || n.Life <= 0:
		return status.New(status.InvalidArgument, "a join token needs a pool and a time to live above zero")
	case n.Uses < 0 || n.Uses > maxUses:
		return status.New(status.InvalidArgument, "uses: must be 0 (any number) to %d (%d)", maxUses, n.Uses)
	}
	return nil
}

// SignJoinToken makes a token without storing anything, for who reads the store
// beside its master. The master counts it all the same.
func (a *Auth) SignJoinToken(n NewJoin) (token.Text, token.Join, error) {
	if err := n.validate(); err != nil {
		return "", token.Join{}, err
	}
	return a.keys().SignJoin(token.Join{
		Cluster: a.cluster, Pool: n.Pool, Uses: n.Uses, Expires: a.cfg.Now().Add(n.Life),
	})
}

// CreateJoinToken makes a token that is listed from now on.
func (a *Auth) CreateJoinToken(ctx context.Context, n NewJoin) (token.Text, *apiv1.JoinToken, error) {
	text, j, err := a.SignJoinToken(n)
	if err != nil {
		return "", nil, err
	}
	a.change.Lock()
	defer a.change.Unlock()
	rec := joinRecord{Pool: j.Pool, Expires: j.Expires, Uses: j.Uses, Created: a.cfg.Now(), By: n.By}
	return text, rec.api(j.ID), a.putJoin(ctx, j.ID, rec)
}

// putJoin stores a token's record. The caller holds change.
func (a *Auth) putJoin(ctx context.Context, id string, rec joinRecord) error {
	if err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error { return putJoin(tx, id, rec) }); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.joins[id] = rec
	return nil
}

// JoinTokens lists the tokens that have not expired, oldest first.
func (a *Auth) JoinTokens() []*apiv1.JoinToken {
	a.mu.RLock()
	defer a.mu.RUnlock()
	now := a.cfg.Now()
	out := make([]*apiv1.JoinToken, 0, len(a.joins))
	for id, rec := range a.joins {
		if now.Before(rec.Expires) {
			out = append(out, rec.api(id))
		}
	}
	slices.SortFunc(out, func(x, y *apiv1.JoinToken) int {
		return cmp.Or(x.GetCreatedAt().AsTime().Compare(y.GetCreatedAt().AsTime()), cmp.Compare(x.GetId(), y.GetId()))
	})
	return out
}

// RevokeJoinToken ends a token, named by its id or by its whole text: one that was
// made beside the master and never used is known by its text only. Agents that have
// joined with it stay. The errors have the codes NotFound and InvalidArgument.
func (a *Auth) RevokeJoinToken(ctx context.Context, name, by string) (*apiv1.JoinToken, error) {
	a.change.Lock()
	defer a.change.Unlock()
	id, rec, err := a.findJoin(name)
	if err != nil {
		return nil, err
	}
	if rec.Revoked.IsZero() {
		rec.Revoked, rec.RevokedBy = a.cfg.Now(), by
	}
	return rec.api(id), a.putJoin(ctx, id, rec)
}

func (a *Auth) findJoin(name string) (id string, rec joinRecord, err error) {
	a.mu.RLock()
	rec, found := a.joins[name]
	a.mu.RUnlock()
	if found {
		return name, rec, nil
	}
	j, err := a.keys().ReadJoin(token.Text(name), a.cluster, a.cfg.Now())
	switch {
	case err == nil:
		return j.ID, a.joinOf(j), nil
	case token.LooksLikeJoin(token.Text(name)):
		return "", rec, status.New(status.InvalidArgument, "revoke the join token: %v; it is of no use already", err)
	}
	return "", rec, status.New(status.NotFound,
		"join token '%.64s' not found: it has expired, or was made by `det-deploy master join-token` and never used; name that one by its whole text", name)
}

func (r joinRecord) api(id string) *apiv1.JoinToken {
	return &apiv1.JoinToken{
		Id: id, ResourcePool: r.Pool, ExpiresAt: stamp(r.Expires),
		Uses: int32(r.Uses), Used: int32(r.Used), //nolint:gosec // at most maxUses, and a number of machines
		CreatedAt: stamp(r.Created), CreatedBy: r.By, LastUsedAt: stamp(r.LastUsed), LastAgent: r.LastAgent,
		RevokedAt: stamp(r.Revoked), RevokedBy: r.RevokedBy,
	}
}

// stamp is nil for no time.
func stamp(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

// sweepJoins forgets the tokens that have expired. The caller holds change.
func (a *Auth) sweepJoins(ctx context.Context) error {
	over, err := deleteExpired(ctx, a.cfg.Store, joins(), a.cfg.Now())
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range over {
		delete(a.joins, d.ID)
	}
	return err
}
