package auth

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// acceptance is a grant on its way to being carried out. What follows grant is guarded by
// shared.change.
type acceptance struct {
	grant

	ended      bool
	changed    bool // it is good once the changes are stored
	credential token.Text
	err        error
}

// acceptTime is how long the store may take for the grants that are carried out together.
const acceptTime = 10 * time.Second

// acceptGrant carries a grant out, in one transaction with those that have come while the
// store was busy with others: a thousand agents that join at once take some ten.
func (a *admissions) acceptGrant(ctx context.Context, g grant) (token.Text, error) {
	w := &acceptance{grant: g}
	a.mu.Lock()
	a.accepting = append(a.accepting, w)
	a.mu.Unlock()
	a.change.Lock()
	defer a.change.Unlock()
	if !w.ended {
		a.acceptAll(ctx, a.takeAccepting())
	}
	return w.credential, w.err
}

func (a *admissions) takeAccepting() []*acceptance {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.accepting
	a.accepting = nil
	return all
}

// acceptAll carries grants out in the order in which they came. The caller holds change.
// One of several callers does it for all of them, so that it does not end with ctx.
func (a *admissions) acceptAll(ctx context.Context, all []*acceptance) {
	c := &changes{admissions: a, agents: map[string]agentRecord{}, joins: map[string]joinRecord{}}
	for _, w := range all {
		w.changed, w.credential, w.err = c.carryOut(w.grant)
		w.ended = true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acceptTime)
	defer cancel()
	err := c.storeAll(ctx)
	if err == nil {
		return
	}
	for _, w := range all {
		if w.changed {
			w.credential, w.err = "", fmt.Errorf("admit agent %s: %w", w.Agent, err)
		}
	}
}

// changes are what grants change, before it is stored: each grant finds the records as the
// ones before it have left them.
type changes struct {
	*admissions

	agents map[string]agentRecord
	joins  map[string]joinRecord
}

func (c *changes) findAgent(id string) (agentRecord, bool) {
	if rec, found := c.agents[id]; found {
		return rec, true
	}
	return c.admissions.findAgent(id)
}

func (c *changes) findJoin(j token.Join) joinRecord {
	if rec, found := c.joins[j.ID]; found {
		return rec
	}
	return c.joinTokens.findOrRead(j)
}

// carryOut checks a grant once more and notes what it changes. The credential is empty
// where the agent has one that stays.
func (c *changes) carryOut(g grant) (changed bool, credential token.Text, err error) {
	if err := c.checkGrant(g); err != nil {
		return false, "", err
	}
	rec, _ := c.findAgent(g.Agent)
	if g.shown != "" && g.shown == rec.Credential && rec.Key == c.signingKeys.currentKey()[0].ID {
		return c.noteShown(g.Agent, rec), "", nil
	}
	credential, err = c.issueCredential(g, rec)
	return err == nil, credential, err
}

// noteShown notes that an agent has its credential: the one before it is void, and a
// launched machine needs no proof any more. It is false when that is known.
func (c *changes) noteShown(id string, rec agentRecord) bool {
	if rec.Previous == "" && (rec.Shown || rec.Instance == "") {
		return false
	}
	rec.Previous, rec.Shown, rec.Proofs = "", rec.Instance != "", nil
	c.agents[id] = rec
	return true
}

// issueCredential signs a new credential and leaves the one before it good until this one is
// shown.
func (c *changes) issueCredential(g grant, before agentRecord) (token.Text, error) {
	ring, now := c.signingKeys.currentKey(), c.cfg.Now()
	g.Cluster, g.Issued = c.cluster, now
	text, signed, err := ring.SignCredential(g.Credential)
	if err != nil {
		return "", fmt.Errorf("admit agent %s: %w", g.Agent, err)
	}
	rec := agentRecord{
		Credential: signed.ID, Previous: cmp.Or(g.shown, before.Previous, before.Credential),
		Pool: signed.Pool, Instance: signed.Instance, Key: ring[0].ID, Issued: signed.Issued,
		Shown: g.shown != "" && signed.Instance != "",
	}
	if g.proof != "" {
		rec.Proofs = append(before.recentProofs(now), usedProof{ID: g.proof, At: now})
	}
	if g.join != nil {
		c.joins[g.join.ID] = c.findJoin(*g.join).countUse(g, before, now)
		rec.Join = g.join.ID
	}
	c.agents[g.Agent] = rec
	return text, nil
}

// storeAll stores agents and the join tokens with which they came, and then has memory agree.
func (c *changes) storeAll(ctx context.Context) error {
	if len(c.agents) == 0 {
		return nil
	}
	err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		for id, rec := range c.joins {
			if err := putJoin(tx, id, rec); err != nil {
				return err
			}
		}
		for id, rec := range c.agents {
			if err := agentCollection().Put(tx, id, rec.Pool, rec.Issued, rec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, rec := range c.agents {
		c.admissions.agents[id] = rec
	}
	for id, rec := range c.joins {
		c.joinTokens.keepToken(id, rec)
	}
	return nil
}
