package auth

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// joinRecord is stored for a join token, under its ID, without the token itself. A token that was
// created by a separate process has no record until its first use.
type joinRecord struct {
	Pool    string    `json:"pool"`
	Expires time.Time `json:"expires"`
	// Uses is the maximum number of machines; 0 means no limit. Used is the number of machines that
	// have joined.
	Uses int `json:"uses,omitempty"`
	Used int `json:"used,omitempty"`
	// Created and By are empty for a token that was created by a separate process.
	Created time.Time `json:"created,omitzero"`
	By      string    `json:"by,omitempty"`
	// LastUsed and LastAgent describe the last use.
	LastUsed  time.Time `json:"last_used,omitzero"`
	LastAgent string    `json:"last_agent,omitempty"`
	Revoked   time.Time `json:"revoked,omitzero"`
	RevokedBy string    `json:"revoked_by,omitempty"`
}

// joinTokens holds the join tokens.
type joinTokens struct {
	*shared

	signingKeys *signingKeys

	mu    sync.RWMutex
	joins map[string]joinRecord // by ID
}

func joinCollection() store.Collection[joinRecord] {
	return store.Collection[joinRecord]{Kind: "join_token"}
}

func putJoin(tx *store.Tx, id string, rec joinRecord) error {
	return joinCollection().Put(tx, id, rec.Pool, rec.Expires, rec)
}

func (t *joinTokens) loadTokens(ctx context.Context) error {
	docs, err := joinCollection().All(ctx, t.cfg.Store)
	for _, d := range docs {
		t.joins[d.ID] = d.Value
	}
	return err
}

// findOrRead returns the record of a token, or a new one from the token's content if it has not
// been seen before.
func (t *joinTokens) findOrRead(j token.Join) joinRecord {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if rec, found := t.joins[j.ID]; found {
		return rec
	}
	return joinRecord{Pool: j.Pool, Expires: j.Expires, Uses: j.Uses}
}

// joinAgain is how long an agent may use an exhausted token again, because the response with its
// credential may have been lost.
const joinAgain = 2 * time.Minute

// isRepeat reports whether the last agent that used a token repeats its request without having used
// its credential.
func (r agentRecord) isRepeat(j token.Join, now time.Time) bool {
	return r.Join == j.ID && now.Sub(r.Issued) < joinAgain
}

// checkUse returns the reason why an agent with record rec may not join with the token, or nil.
func (j joinRecord) checkUse(g grant, rec agentRecord, now time.Time) error {
	switch {
	case !j.Revoked.IsZero():
		return status.New(status.Unauthenticated,
			"agent '%s' is not admitted: its join token %s has been revoked; give it a new join token", g.Agent, g.join.ID)
	case j.Uses > 0 && j.Used >= j.Uses && !rec.isRepeat(*g.join, now):
		return status.New(status.Unauthenticated,
			"agent '%s' is not admitted: its join token %s was for %d machines, and as many have joined; give it a new join token",
			g.Agent, g.join.ID, j.Uses)
	}
	return nil
}

// countUse returns the record after the machine has joined.
func (j joinRecord) countUse(g grant, before agentRecord, now time.Time) joinRecord {
	if !before.isRepeat(*g.join, now) {
		j.Used++
	}
	j.LastUsed, j.LastAgent = now, g.Agent
	return j
}

// NewJoin describes a new join token.
type NewJoin struct {
	Pool string
	Life time.Duration
	// Uses is the maximum number of machines; 0 means no limit.
	Uses int
	// By is the name of the creator.
	By string
}

// maxUses is larger than any cluster and catches typing errors.
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

// SignJoinToken creates a token without storing it, for a process other than the master. The master
// counts its uses all the same.
func (t *joinTokens) SignJoinToken(n NewJoin) (token.Text, token.Join, error) {
	if err := n.validate(); err != nil {
		return "", token.Join{}, err
	}
	return t.signingKeys.currentKey().SignJoin(token.Join{
		Cluster: t.cluster, Pool: n.Pool, Uses: n.Uses, Expires: t.cfg.Now().Add(n.Life),
	})
}

// CreateJoinToken creates and stores a token.
func (t *joinTokens) CreateJoinToken(ctx context.Context, n NewJoin) (token.Text, *apiv1.JoinToken, error) {
	text, j, err := t.SignJoinToken(n)
	if err != nil {
		return "", nil, err
	}
	t.change.Lock()
	defer t.change.Unlock()
	rec := joinRecord{Pool: j.Pool, Expires: j.Expires, Uses: j.Uses, Created: t.cfg.Now(), By: n.By}
	return text, rec.toAPI(j.ID), t.putRecord(ctx, j.ID, rec)
}

// putRecord stores a token's record. The caller holds change.
func (t *joinTokens) putRecord(ctx context.Context, id string, rec joinRecord) error {
	if err := t.cfg.Store.Write(ctx, func(tx *store.Tx) error { return putJoin(tx, id, rec) }); err != nil {
		return err
	}
	t.keepToken(id, rec)
	return nil
}

func (t *joinTokens) keepToken(id string, rec joinRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.joins[id] = rec
}

// JoinTokens returns the tokens that have not expired, oldest first.
func (t *joinTokens) JoinTokens() []*apiv1.JoinToken {
	t.mu.RLock()
	defer t.mu.RUnlock()
	now := t.cfg.Now()
	out := make([]*apiv1.JoinToken, 0, len(t.joins))
	for id, rec := range t.joins {
		if now.Before(rec.Expires) {
			out = append(out, rec.toAPI(id))
		}
	}
	slices.SortFunc(out, func(x, y *apiv1.JoinToken) int {
		return cmp.Or(x.GetCreatedAt().AsTime().Compare(y.GetCreatedAt().AsTime()), cmp.Compare(x.GetId(), y.GetId()))
	})
	return out
}

// RevokeJoinToken revokes a token, given by its ID or its whole text; an unused token that was
// created by a separate process is only known by its text. Agents that have joined with it stay. It
// returns an error of code NotFound or InvalidArgument.
func (t *joinTokens) RevokeJoinToken(ctx context.Context, name, by string) (*apiv1.JoinToken, error) {
	t.change.Lock()
	defer t.change.Unlock()
	id, rec, err := t.findJoin(name)
	if err != nil {
		return nil, err
	}
	if rec.Revoked.IsZero() {
		rec.Revoked, rec.RevokedBy = t.cfg.Now(), by
	}
	return rec.toAPI(id), t.putRecord(ctx, id, rec)
}

func (t *joinTokens) findJoin(name string) (id string, rec joinRecord, err error) {
	t.mu.RLock()
	rec, found := t.joins[name]
	t.mu.RUnlock()
	if found {
		return name, rec, nil
	}
	j, err := t.signingKeys.currentKey().ReadJoin(token.Text(name), t.cluster, t.cfg.Now())
	switch {
	case err == nil:
		return j.ID, t.findOrRead(j), nil
	case token.LooksLikeJoin(token.Text(name)):
		return "", rec, status.New(status.InvalidArgument, "cannot revoke the join token: %v; it is already invalid", err)
	}
	return "", rec, status.New(status.NotFound,
		"join token '%.64s' not found: it has expired, or was made by `det-deploy master join-token` and never used; specify that one by its whole text", name)
}

func (r joinRecord) toAPI(id string) *apiv1.JoinToken {
	return &apiv1.JoinToken{
		Id: id, ResourcePool: r.Pool, ExpiresAt: toTimestamp(r.Expires),
		Uses: int32(r.Uses), Used: int32(r.Used), //nolint:gosec // at most maxUses, and a number of machines
		CreatedAt: toTimestamp(r.Created), CreatedBy: r.By, LastUsedAt: toTimestamp(r.LastUsed), LastAgent: r.LastAgent,
		RevokedAt: toTimestamp(r.Revoked), RevokedBy: r.RevokedBy,
	}
}

// toTimestamp returns nil for the zero time.
func toTimestamp(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

// sweepExpired deletes expired tokens. The caller holds change.
func (t *joinTokens) sweepExpired(ctx context.Context) error {
	over, err := deleteExpired(ctx, t.cfg.Store, joinCollection(), t.cfg.Now())
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range over {
		delete(t.joins, d.ID)
	}
	return err
}
