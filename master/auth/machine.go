package auth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/api/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/token"
)

// Launches is what whoever launches machines knows of one.
type Launches interface {
	// Launched returns the pool of a machine that was launched and is to go on,
	// whether or not it has joined.
	Launched(id cloud.InstanceID) (pool string, ok bool)
	// Joined says that the agent of a machine has joined. It may be repeated.
	Joined(id cloud.InstanceID)
}

// NoLaunches is a master that launches nothing.
type NoLaunches struct{}

// Launched knows none.
func (NoLaunches) Launched(cloud.InstanceID) (string, bool) { return "", false }

// Joined never comes.
func (NoLaunches) Joined(cloud.InstanceID) {}

// UnwantedError refuses a machine that is none of the master's, or none any more.
type UnwantedError struct {
	Agent  string
	Reason string
}

// Error says who and why.
func (e *UnwantedError) Error() string {
	return fmt.Sprintf("machine '%s' is not let in: %s", e.Agent, e.Reason)
}

// ErrNotLaunched is the refusal of a machine that is not in the ledger of
// launches, where it may still appear: a machine may be faster than the answer to
// the call that made it.
var ErrNotLaunched = status.New(status.FailedPrecondition,
	"this machine is not let in: the master has not launched it, or does not know so yet")

// proofLife is how long the proof that was shown is remembered, so that it opens
// the door once: longer than any is good. Amazon's are for 15 minutes.
const proofLife = 20 * time.Minute

// IsMachine says whether an agent's id is that of a launched machine, for which
// neither a join token nor anybody's word is enough.
func (a *Auth) IsMachine(agent string, l Launches) bool {
	if rec, found := a.agent(agent); found && rec.Instance != "" {
		return true
	}
	_, launched := l.Launched(cloud.InstanceID(agent))
	return launched
}

// AdmitMachine lets a machine in that was launched and proves to be the one whose
// name its agent bears. A proof opens the door once, and only until the machine
// has shown the credential that it got for one. The error is an *UnwantedError,
// ErrNotLaunched, or says why nothing could be checked.
func (a *Auth) AdmitMachine(ctx context.Context, agent string, proof cloud.Proof, l Launches) (Admission, error) {
	attestor := a.cfg.Attestors[proof.Kind]
	if attestor == nil {
		return Admission{}, &UnwantedError{agent, fmt.Sprintf("this master does not take proofs of the form %q", excerpt.Of(proof.Kind))}
	}
	id, err := attestor.Attest(ctx, a.cluster, proof)
	switch {
	case cloud.KindOf(err) == cloud.Denied, cloud.KindOf(err) == cloud.Invalid:
		return Admission{}, &UnwantedError{agent, "its proof of identity proves nothing: " + err.Error()}
	case err != nil:
		return Admission{}, fmt.Errorf("check the proof of machine %s: %w", agent, err)
	case string(id) != agent:
		return Admission{}, &UnwantedError{agent, fmt.Sprintf("it proves to be machine '%s'", id)}
	}
	pool, launched := l.Launched(id)
	if !launched {
		return Admission{}, ErrNotLaunched // nothing was opened: the same proof may come again
	}
	rec, found := a.agent(agent)
	switch {
	case !a.firstTime(proof):
		return Admission{}, &UnwantedError{agent, "its proof of identity was used before"}
	case found && rec.Instance != agent:
		return Admission{}, &UnwantedError{agent, "an agent that was not launched has that name; revoke it first"}
	case found && rec.Shown:
		return Admission{}, &UnwantedError{agent, "it has joined already; of what runs there only its agent may"}
	}
	return a.issue(ctx, token.Credential{Agent: agent, Pool: pool, Instance: agent}, "")
}

// AdmitKnownMachine lets a launched machine in that joined before.
func (a *Auth) AdmitKnownMachine(ctx context.Context, agent string, credential token.Text, l Launches) (Admission, error) {
	adm, err := a.admitKnown(ctx, Arrival{Agent: agent, Instance: agent, Credential: credential})
	if err != nil {
		return Admission{}, err
	}
	pool, launched := l.Launched(cloud.InstanceID(agent))
	if !launched || pool != adm.Pool {
		return Admission{}, &UnwantedError{agent, "it is not, or no longer, one of the master's machines"}
	}
	if err := a.shown(ctx, agent); err != nil {
		return Admission{}, err
	}
	l.Joined(cloud.InstanceID(agent))
	return adm, nil
}

// shown notes that a machine has its credential: from now on no proof is needed.
func (a *Auth) shown(ctx context.Context, agent string) error {
	a.change.Lock()
	defer a.change.Unlock()
	rec, found := a.agent(agent)
	if !found || rec.Shown {
		return nil
	}
	rec.Shown = true
	return a.putAgent(ctx, agent, rec)
}

// firstTime notes a proof and says whether it is new.
func (a *Auth) firstTime(proof cloud.Proof) bool {
	now, sum := a.cfg.Now(), sha256.Sum256(proof.Data)
	a.mu.Lock()
	defer a.mu.Unlock()
	for s, at := range a.proofs {
		if now.Sub(at) > proofLife {
			delete(a.proofs, s)
		}
	}
	if _, used := a.proofs[sum]; used {
		return false
	}
	a.proofs[sum] = now
	return true
}

// ForgetMachines withdraws the credentials of machines that are over.
func (a *Auth) ForgetMachines(ctx context.Context, l Launches) error {
	var over []string
	a.mu.RLock()
	for id, rec := range a.agents {
		if _, launched := l.Launched(cloud.InstanceID(id)); rec.Instance != "" && !launched {
			over = append(over, id)
		}
	}
	a.mu.RUnlock()
	for _, id := range over {
		if err := a.Revoke(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
