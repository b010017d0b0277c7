package auth

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// acceptance is a grant in progress. The fields after grant are guarded by shared.change.
type acceptance struct {
	grant

	ended      bool
	changed    bool // valid once the changes are stored
	credential token.Text
	err        error
}

// acceptTime limits the transaction that stores a batch of grants.
const acceptTime = 10 * time.Second

// acceptGrant executes a grant. Grants that arrive while the store is busy share one transaction,
// so that a thousand agents that join at once take some ten.
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

// acceptAll executes grants in the order of their arrival. The caller holds change. One of several
// callers does this for all of them, so it must not end with that caller's ctx.
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

// changes collects the changes of grants before they are stored. Each grant sees the changes of
// those before it.
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

// carryOut checks a grant again and adds its changes. The credential is empty if the agent keeps
// its own.
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

// noteShown records that an agent has its credential, which invalidates the previous one and the
// use of proofs by a launched machine. It returns false if that is known.
func (c *changes) noteShown(id string, rec agentRecord) bool {
	if rec.Previous == "" && (rec.Shown || rec.Instance == "") {
		return false
	}
	rec.Previous, rec.Shown, rec.Proofs = "", rec.Instance != "", nil
	c.agents[id] = rec
	return true
}

// issueCredential signs a new credential. The previous one stays valid until the new one is used.
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

// storeAll stores agents and the join tokens that they used, and then updates memory.
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
