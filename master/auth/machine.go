package auth

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/token"
)

// Launches provides the launcher's records of machines.
type Launches interface {
	// Launched returns the pool of a machine that was launched and is not to be terminated, whether
	// or not it has joined.
	Launched(id cloud.InstanceID) (pool string, ok bool)
	// Joined records that the agent of a machine has joined. It may be repeated.
	Joined(id cloud.InstanceID)
}

// UnwantedError reports a machine that the master did not launch or has terminated.
type UnwantedError struct {
	Agent  string
	Reason string
}

// Error names the machine and the reason.
func (e *UnwantedError) Error() string {
	return fmt.Sprintf("machine '%s' is not admitted: %s", e.Agent, e.Reason)
}

// ErrNotLaunched reports a machine that is not in the launcher's records yet. It may still appear,
// because a machine may be faster than the response to the call that launched it.
var ErrNotLaunched = status.New(status.FailedPrecondition,
	"this machine is not admitted: the master has not launched it, or has not recorded the launch yet")

// proofLife is how long used proofs are remembered, so that each is accepted once. It exceeds the
// validity of all proofs; those of AWS are valid for 15 minutes.
const proofLife = 20 * time.Minute

// IsMachine reports whether an agent's ID is that of a launched machine, which cannot join with a
// join token.
func (a *admissions) IsMachine(agent string, l Launches) bool {
	if rec, found := a.findAgent(agent); found && rec.Instance != "" {
		return true
	}
	_, launched := l.Launched(cloud.InstanceID(agent))
	return launched
}

// AdmitMachine verifies that a machine was launched and proves the identity in its agent's name. A
// proof is accepted once, and only until the machine has used the credential that it got for a
// proof. The error is an *UnwantedError, a *RevokedError, ErrNotLaunched, or the reason why the
// proof could not be verified.
func (a *admissions) AdmitMachine(ctx context.Context, agent string, proof cloud.Proof, l Launches) (Admission, error) {
	attestor := a.cfg.Attestors[proof.Kind]
	if attestor == nil {
		return Admission{}, &UnwantedError{agent, fmt.Sprintf("this master does not accept proofs of kind %q", excerpt.Of(proof.Kind))}
	}
	proven, err := attestor.Attest(ctx, a.cluster, proof)
	switch {
	case cloud.KindOf(err) == cloud.Denied, cloud.KindOf(err) == cloud.Invalid:
		return Admission{}, &UnwantedError{agent, "its proof of identity is invalid: " + err.Error()}
	case cloud.KindOf(err) == cloud.NotFound: // a platform that reads its own launches
		return Admission{}, ErrNotLaunched
	case err != nil:
		return Admission{}, fmt.Errorf("check the proof of machine %s: %w", agent, err)
	case string(proven.Instance) != agent:
		return Admission{}, &UnwantedError{agent, fmt.Sprintf("its proof is for machine '%s'", proven.Instance)}
	}
	pool, launched := l.Launched(proven.Instance)
	if !launched {
		return Admission{}, ErrNotLaunched // the proof was not used: it may come again
	}
	return a.newAdmission(grant{
		Credential: token.Credential{Agent: agent, Pool: pool, Instance: agent}, proof: proven.Once,
	})
}

// AdmitKnownMachine verifies the credential of a launched machine that joined before.
func (a *admissions) AdmitKnownMachine(agent string, credential token.Text, l Launches) (Admission, error) {
	adm, err := a.admitKnown(Arrival{Agent: agent, Instance: agent, Credential: credential})
	if err != nil {
		return Admission{}, err
	}
	pool, launched := l.Launched(cloud.InstanceID(agent))
	if !launched || pool != adm.Pool {
		return Admission{}, &UnwantedError{agent, "it is not, or no longer, one of the master's machines"}
	}
	accept := adm.accept
	adm.accept = func(ctx context.Context) (token.Text, error) {
		text, err := accept(ctx)
		if err == nil {
			l.Joined(cloud.InstanceID(agent))
		}
		return text, err
	}
	return adm, nil
}

// usedProof is an accepted proof, identified by cloud.Attested.Once.
type usedProof struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// maxProofs is the maximum number of remembered proofs per machine. A machine uses one, and another
// after each lost response.
const maxProofs = 64

// recentProofs returns the proofs that may still be valid.
func (r agentRecord) recentProofs(now time.Time) []usedProof {
	return slices.DeleteFunc(slices.Clone(r.Proofs), func(p usedProof) bool { return now.Sub(p.At) > proofLife })
}

func (a *admissions) checkProof(g grant, rec agentRecord, found bool) error {
	used := rec.recentProofs(a.cfg.Now())
	switch {
	case slices.ContainsFunc(used, func(p usedProof) bool { return p.ID == g.proof }):
		return &UnwantedError{g.Agent, "its proof of identity was used before"}
	case len(used) >= maxProofs:
		return &UnwantedError{g.Agent, fmt.Sprintf("it has used %d proofs of identity within %s", len(used), proofLife)}
	case found && rec.Instance != g.Agent:
		return &UnwantedError{g.Agent, "an agent that was not launched has that ID; revoke and admit it first"}
	case found && rec.Shown:
		return &UnwantedError{g.Agent, "it has joined already; only its agent may reconnect, with its credential"}
	}
	return nil
}
