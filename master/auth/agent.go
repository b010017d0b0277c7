package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// keyRecord is one signing key as it is stored. Order 0 signs.
type keyRecord struct {
	ID      string    `json:"id"`
	Secret  []byte    `json:"secret"`
	Created time.Time `json:"created"`
}

type ringRecord struct {
	Keys []keyRecord `json:"keys"`
}

var rings = store.Collection[ringRecord]{Kind: "signing_keys"}

func putRing(tx *store.Tx, r token.Ring) error {
	var rec ringRecord
	for _, k := range r {
		rec.Keys = append(rec.Keys, keyRecord(k))
	}
	return rings.Put(tx, "current", "", r[0].Created, rec)
}

func (a *Auth) loadKeys(ctx context.Context) error {
	doc, _, err := rings.Get(ctx, a.cfg.Store, "current")
	for _, k := range doc.Value.Keys {
		a.ring = append(a.ring, token.Key(k))
	}
	return err
}

func (a *Auth) keys() token.Ring {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.ring
}

// RotateKeys makes a new signing key. What was signed by the one before stays good
// until the next rotation; agents that connect meanwhile get a new credential.
func (a *Auth) RotateKeys(ctx context.Context) error {
	a.change.Lock()
	defer a.change.Unlock()
	ring := a.keys().Rotate(token.NewKey(a.cfg.Now()))
	if err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error { return putRing(tx, ring) }); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ring = ring
	return nil
}

// agentRecord is the one credential that is good for an agent. All others that were
// ever signed for it are revoked by not being this one.
type agentRecord struct {
	Credential string `json:"credential"` // the id, not the text
	// Previous stays good after a rotation of keys until its successor has been
	// shown: the answer that carried the successor may have been lost.
	Previous string `json:"previous,omitempty"`
	Pool     string `json:"pool"`
	Instance string `json:"instance,omitempty"`
	// Shown says that a launched machine has shown its credential.
	Shown  bool      `json:"shown,omitempty"`
	Key    string    `json:"key"` // the signing key's id
	Issued time.Time `json:"issued"`
}

var agents = store.Collection[agentRecord]{Kind: "agent_credential"}

func (a *Auth) loadAgents(ctx context.Context) error {
	docs, err := agents.All(ctx, a.cfg.Store)
	for _, d := range docs {
		a.agents[d.ID] = d.Value
	}
	return err
}

func (a *Auth) agent(id string) (agentRecord, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	rec, found := a.agents[id]
	return rec, found
}

// JoinToken makes a token with which machines may join a pool for a while.
func (a *Auth) JoinToken(pool string, life time.Duration) (token.Text, error) {
	if pool == "" || life <= 0 {
		return "", status.New(status.InvalidArgument, "a join token needs a pool and a time to live above zero")
	}
	return a.keys().SignJoin(token.Join{Cluster: a.cluster, Pool: pool, Expires: a.cfg.Now().Add(life)})
}

// Arrival is what a machine brings when it connects. One of Credential and
// JoinToken is enough; a good credential is preferred.
type Arrival struct {
	Agent      string
	Pool       string // what the machine believes; empty to be told
	Instance   string
	Credential token.Text
	JoinToken  token.Text
}

// Admission is the answer to a machine that is let in.
type Admission struct {
	// Pool is the pool that the machine belongs to, whatever it believed.
	Pool string
	// Credential replaces the one the machine has, unless empty.
	Credential token.Text
}

// ErrRevoked is the refusal of a credential that has been withdrawn or replaced.
var ErrRevoked = errors.New("this agent's credential has been revoked")

// Admit lets a machine in that shows a credential or a join token, and nobody else.
// The errors are of the code Unauthenticated, or PermissionDenied when the proof is
// good but not for this agent or pool.
func (a *Auth) Admit(ctx context.Context, in Arrival) (Admission, error) {
	if in.Agent == "" {
		return Admission{}, status.New(status.InvalidArgument, "an agent needs an id")
	}
	if in.Credential != "" {
		adm, err := a.admitKnown(ctx, in)
		if err == nil || in.JoinToken == "" {
			return adm, err
		}
	}
	if in.JoinToken == "" {
		return Admission{}, status.New(status.Unauthenticated,
			"agent '%s' is not let in: it shows neither a credential nor a join token; give it a join token", in.Agent)
	}
	j, err := a.keys().ReadJoin(in.JoinToken, a.cluster, a.cfg.Now())
	if err != nil {
		return Admission{}, status.New(status.Unauthenticated,
			"agent '%s' is not let in: %v; give it a new join token", in.Agent, err)
	}
	if rec, found := a.agent(in.Agent); found && rec.Instance != "" {
		return Admission{}, status.New(status.PermissionDenied,
			"agent '%s' is not let in: that is a machine which was launched, and no join token stands for one", in.Agent)
	}
	if in.Pool != "" && in.Pool != j.Pool {
		return Admission{}, status.New(status.PermissionDenied,
			"agent '%s' is not let in: its join token is for the resource pool '%s', not '%s'", in.Agent, j.Pool, in.Pool)
	}
	return a.Issue(ctx, in.Agent, j.Pool, in.Instance)
}

func (a *Auth) admitKnown(ctx context.Context, in Arrival) (Admission, error) {
	c, err := a.keys().ReadCredential(in.Credential, a.cluster)
	rec, found := a.agent(c.Agent)
	if err == nil && (!found || (c.ID != rec.Credential && c.ID != rec.Previous)) {
		err = ErrRevoked
	}
	if err != nil {
		return Admission{}, status.New(status.Unauthenticated,
			"agent '%s' is not let in: %v; give it a new join token", in.Agent, err)
	}
	if c.Agent != in.Agent || (in.Pool != "" && in.Pool != c.Pool) || (c.Instance != "" && in.Instance != c.Instance) {
		return Admission{}, status.New(status.PermissionDenied,
			"agent '%s' is not let in: its credential is for agent '%s' of resource pool '%s'", in.Agent, c.Agent, c.Pool)
	}
	switch {
	case c.ID == rec.Previous || rec.Key != a.keys()[0].ID:
		return a.issue(ctx, c, c.ID)
	case rec.Previous != "":
		rec.Previous = ""
		return Admission{Pool: c.Pool}, a.putAgent(ctx, c.Agent, rec)
	}
	return Admission{Pool: c.Pool}, nil
}

// Issue gives a machine that has proven itself a new credential and revokes the one
// before it: of two machines with one name the later is the agent. An agent that is
// known in another pool is refused until it is revoked.
func (a *Auth) Issue(ctx context.Context, agent, pool, instance string) (Admission, error) {
	return a.issue(ctx, token.Credential{Agent: agent, Pool: pool, Instance: instance}, "")
}

func (a *Auth) issue(ctx context.Context, c token.Credential, previous string) (Admission, error) {
	a.change.Lock()
	defer a.change.Unlock()
	if rec, found := a.agent(c.Agent); found && rec.Pool != c.Pool && rec.Instance == "" {
		return Admission{}, status.New(status.PermissionDenied,
			"agent '%s' belongs to resource pool '%s', not '%s'; choose another id, or revoke that agent first",
			c.Agent, rec.Pool, c.Pool)
	}
	ring := a.keys()
	c.Cluster, c.Issued = a.cluster, a.cfg.Now()
	text, c, err := ring.SignCredential(c)
	if err != nil {
		return Admission{}, fmt.Errorf("admit agent %s: %w", c.Agent, err)
	}
	rec := agentRecord{
		Credential: c.ID, Previous: previous, Pool: c.Pool, Instance: c.Instance, Key: ring[0].ID, Issued: c.Issued,
		Shown: previous != "" && c.Instance != "",
	}
	return Admission{Pool: c.Pool, Credential: text}, a.putAgent(ctx, c.Agent, rec)
}

func (a *Auth) putAgent(ctx context.Context, id string, rec agentRecord) error {
	err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error { return agents.Put(tx, id, rec.Pool, rec.Issued, rec) })
	if err != nil {
		return fmt.Errorf("admit agent %s: %w", id, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agents[id] = rec
	return nil
}

// Revoke withdraws the credential of an agent; it must join again. One that has
// none is not an error.
func (a *Auth) Revoke(ctx context.Context, agent string) error {
	a.change.Lock()
	defer a.change.Unlock()
	err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error { return agents.Delete(tx, agent) })
	if err != nil {
		return fmt.Errorf("revoke agent %s: %w", agent, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.agents, agent)
	return nil
}
