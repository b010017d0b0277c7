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

// agentRecord holds the valid credentials of an agent: the current one and, until that is used, the
// previous one. All other signed credentials are invalid.
type agentRecord struct {
	Credential string `json:"credential"` // the ID
	// Previous stays valid until its successor is used, because the response with the successor may
	// have been lost or gone to another process.
	Previous string `json:"previous,omitempty"`
	Pool     string `json:"pool"`
	Instance string `json:"instance,omitempty"`
	// Shown reports whether a launched machine has used its credential.
	Shown  bool      `json:"shown,omitempty"`
	Key    string    `json:"key"` // the signing key's ID
	Issued time.Time `json:"issued"`
	// Proofs are the recent proofs of a launched machine.
	Proofs []usedProof `json:"proofs,omitempty"`
	// Join is the ID of the join token that the agent used.
	Join string `json:"join,omitempty"`
}

// admissions holds the agents that have joined and the revoked ones.
type admissions struct {
	*shared

	signingKeys *signingKeys
	joinTokens  *joinTokens

	mu     sync.RWMutex
	agents map[string]agentRecord
	// revoked holds the tombstones of agents.
	revoked map[string]revokedRecord
	// accepting are the grants that wait for execution.
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

// Arrival is the request of a machine that connects. It needs a Credential or a JoinToken; a valid
// credential takes precedence.
type Arrival struct {
	Agent      string
	Pool       string // as configured on the machine; empty means any
	Instance   string
	Credential token.Text
	JoinToken  token.Text
}

// Admission is a verified Arrival. Nothing has changed yet: the caller checks whether the machine
// may connect now, and then calls Accept.
type Admission struct {
	// Pool is the machine's pool, which may differ from the one in the Arrival.
	Pool   string
	accept func(ctx context.Context) (token.Text, error)
}

// Accept admits the machine. It returns a new credential, or "" if the machine keeps its own. The
// previous credential stays valid until the machine uses the new one. Accept returns the errors of
// Admit if the proof has been used or revoked since.
func (a Admission) Accept(ctx context.Context) (token.Text, error) { return a.accept(ctx) }

// ErrRevoked reports a credential that was revoked or replaced.
var ErrRevoked = errors.New("this agent's credential has been revoked")

// Admit verifies the credential or join token of a machine. It returns an error of code
// Unauthenticated, or of code PermissionDenied if the proof is valid but for another agent or pool,
// or if the agent was revoked.
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
			"agent '%s' is not admitted: it has neither a credential nor a join token; give it a join token", in.Agent)
	}
	return a.admitNew(in)
}

// admitNew verifies a join token.
func (a *admissions) admitNew(in Arrival) (Admission, error) {
	j, err := a.signingKeys.currentKey().ReadJoin(in.JoinToken, a.cluster, a.cfg.Now())
	if err != nil {
		return Admission{}, errNotAdmitted(in.Agent, err)
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

func errNotAdmitted(agent string, err error) error {
	return status.New(status.Unauthenticated, "agent '%s' is not admitted: %v; give it a new join token", agent, err)
}

func (a *admissions) admitKnown(in Arrival) (Admission, error) {
	c, err := a.signingKeys.currentKey().ReadCredential(in.Credential, a.cluster)
	if err != nil {
		return Admission{}, errNotAdmitted(in.Agent, err)
	}
	if err := a.checkRevoked(c.Agent); err != nil {
		return Admission{}, err
	}
	rec, found := a.findAgent(c.Agent)
	if !found || !rec.knows(c.ID) {
		return Admission{}, errNotAdmitted(in.Agent, ErrRevoked)
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

// grant is the basis of an admission: a credential, a join token, or a proof of identity.
type grant struct {
	token.Credential
	shown string // the ID of the credential
	join  *token.Join
	proof string // cloud.Attested.Once
}

// newAdmission checks a grant. The check is repeated when the grant is accepted.
func (a *admissions) newAdmission(g grant) (Admission, error) {
	if err := (&changes{admissions: a}).checkGrant(g); err != nil {
		return Admission{}, err
	}
	return Admission{Pool: g.Pool, accept: func(ctx context.Context) (token.Text, error) { return a.acceptGrant(ctx, g) }}, nil
}

// checkGrant returns the reason to reject a grant with a valid signature, or nil.
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
		return errNotAdmitted(g.Agent, ErrRevoked)
	case g.proof != "":
		return c.checkProof(g, rec, found)
	case g.join != nil:
		return c.findJoin(*g.join).checkUse(g, rec, c.cfg.Now())
	}
	return nil
}
