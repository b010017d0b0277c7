package auth

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

// agentRecord is what is good for an agent: one credential, and until that was shown
// the one before it. All others that were ever signed for it are void.
type agentRecord struct {
	Credential string `json:"credential"` // the id, not the text
	// Previous stays good until its successor has been shown: the answer that
	// carried the successor may have been lost, or have gone to another process.
	Previous string `json:"previous,omitempty"`
	Pool     string `json:"pool"`
	Instance string `json:"instance,omitempty"`
	// Shown says that a launched machine has shown its credential.
	Shown  bool      `json:"shown,omitempty"`
	Key    string    `json:"key"` // the signing key's id
	Issued time.Time `json:"issued"`
	// Proofs are those that a launched machine has shown of late.
	Proofs []usedProof `json:"proofs,omitempty"`
	// Join is the join token with which the agent came, by its id.
	Join string `json:"join,omitempty"`
}

// admissions are the agents that have joined and those that were revoked.
type admissions struct {
	*shared

	signingKeys *signingKeys
	joinTokens  *joinTokens

	mu     sync.RWMutex
	agents map[string]agentRecord
	// revoked are the tombstones of agents.
	revoked map[string]revokedRecord
	// accepting are the grants that wait to be carried out.
	accepting []*acceptance
}

func agentCollection() store.Collection[agentRecord] {
	return store.Collection[agentRecord]{Kind: "agent_credential"}
}

func (a *admissions) loadAgents(ctx context.Context) error {
	docs, err := agentCollection().All(ctx, a.cfg.Store)
	for _, d := range docs {
		a.agents[d.ID] = d.Value
	}
	return err
}

func (a *admissions) findAgent(id string) (agentRecord, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	rec, found := a.agents[id]
	return rec, found
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

// Admission is a machine whose proof is good. Nothing has changed yet: the caller
// checks whether the machine may connect now, and then calls Accept.
type Admission struct {
	// Pool is the pool that the machine belongs to, whatever it believed.
	Pool   string
	accept func(ctx context.Context) (token.Text, error)
}

// Accept lets the machine in. The credential replaces the one it has, unless it is
// empty. What the machine had before stays good until it has shown the new one. The
// errors are those of Admit: the proof may have been used, or withdrawn, since.
func (a Admission) Accept(ctx context.Context) (token.Text, error) { return a.accept(ctx) }

// ErrRevoked is the refusal of a credential that has been withdrawn or replaced.
var ErrRevoked = errors.New("this agent's credential has been revoked")

// Admit checks the credential or join token of a machine. The errors are of the code
// Unauthenticated, or PermissionDenied when the proof is good but not for this agent
// or pool, or the agent has been revoked.
func (a *admissions) Admit(in Arrival) (Admission, error) {
	if in.Agent == "" {
		return Admission{}, status.New(status.InvalidArgument, "an agent needs an id")
	}
	if in.Credential != "" {
		adm, err := a.admitKnown(in)
		if err == nil || in.JoinToken == "" {
			return adm, err
		}
	}
	if in.JoinToken == "" {
		return Admission{}, status.New(status.Unauthenticated,
			"agent '%s' is not admitted: it shows neither a credential nor a join token; give it a join token", in.Agent)
	}
	return a.admitNew(in)
}

// admitNew checks a join token.
func (a *admissions) admitNew(in Arrival) (Admission, error) {
	j, err := a.signingKeys.currentKey().ReadJoin(in.JoinToken, a.cluster, a.cfg.Now())
	if err != nil {
		return Admission{}, notLetIn(in.Agent, err)
	}
	if rec, found := a.findAgent(in.Agent); found && rec.Instance != "" {
		return Admission{}, status.New(status.PermissionDenied,
			"agent '%s' is not admitted: a launched machine has this ID, and join tokens are for static agents", in.Agent)
	}
	if in.Pool != "" && in.Pool != j.Pool {
		return Admission{}, status.New(status.PermissionDenied,
			"agent '%s' is not admitted: its join token is for the resource pool '%s', not '%s'", in.Agent, j.Pool, in.Pool)
	}
	g := grant{Credential: token.Credential{Agent: in.Agent, Pool: j.Pool, Instance: in.Instance}, join: &j}
	return a.newAdmission(g)
}

func notLetIn(agent string, err error) error {
	return status.New(status.Unauthenticated, "agent '%s' is not admitted: %v; give it a new join token", agent, err)
}

func (a *admissions) admitKnown(in Arrival) (Admission, error) {
	c, err := a.signingKeys.currentKey().ReadCredential(in.Credential, a.cluster)
	if err != nil {
		return Admission{}, notLetIn(in.Agent, err)
	}
	if err := a.checkRevoked(c.Agent); err != nil {
		return Admission{}, err
	}
	rec, found := a.findAgent(c.Agent)
	if !found || !rec.knows(c.ID) {
		return Admission{}, notLetIn(in.Agent, ErrRevoked)
	}
	if c.Agent != in.Agent || (in.Pool != "" && in.Pool != c.Pool) || (c.Instance != "" && in.Instance != c.Instance) {
		return Admission{}, status.New(status.PermissionDenied,
			"agent '%s' is not admitted: its credential is for agent '%s' of resource pool '%s'", in.Agent, c.Agent, c.Pool)
	}
	return a.newAdmission(grant{Credential: c, shown: c.ID})
}

func (r agentRecord) knows(credential string) bool {
	return credential != "" && (credential == r.Credential || credential == r.Previous)
}

// grant is what an admission stands on: a credential that was shown, a join token, or
// a proof of identity.
type grant struct {
	token.Credential
	shown string // the id of the credential
	join  *token.Join
	proof string // what cloud.Attested calls Once
}

// newAdmission judges a grant, and again when it is accepted.
func (a *admissions) newAdmission(g grant) (Admission, error) {
	if err := (&changes{admissions: a}).checkGrant(g); err != nil {
		return Admission{}, err
	}
	return Admission{Pool: g.Pool, accept: func(ctx context.Context) (token.Text, error) { return a.acceptGrant(ctx, g) }}, nil
}

// checkGrant says what speaks against a grant whose signature is good.
func (c *changes) checkGrant(g grant) error {
	if err := c.checkRevoked(g.Agent); err != nil {
		return err
	}
	rec, found := c.findAgent(g.Agent)
	switch {
	case found && rec.Pool != g.Pool && rec.Instance == "":
		return status.New(status.PermissionDenied,
			"agent '%s' belongs to resource pool '%s', not '%s'; choose another id, or revoke and admit that agent first",
			g.Agent, rec.Pool, g.Pool)
	case g.shown != "" && !rec.knows(g.shown):
		return notLetIn(g.Agent, ErrRevoked)
	case g.proof != "":
		return c.checkProof(g, rec, found)
	case g.join != nil:
		return c.findJoin(*g.join).checkUse(g, rec, c.cfg.Now())
	}
	return nil
}
