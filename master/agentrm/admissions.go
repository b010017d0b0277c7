package agentrm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/share"
	"github.com/det-deploy/det-deploy/master/token"
)

// errCrowded is the answer to a connection that may not wait for its introduction, and the end of
// one that lost its place to another address.
var errCrowded = errors.New("too many connections of agents that are not admitted yet; try again in a second")

// admissions counts the connections that have not been admitted, in all and by
// address. Those that have been are not counted: a thousand agents behind one address
// pass through here one after the other. What waits has no buffers yet, and the server
// bounds how many that are.
type admissions struct {
	places *share.Places
	// patience is how long a connection waits: shorter than a stranger may be silent.
	patience time.Duration

	mu      sync.Mutex  // guards what follows
	waiting []*arriving // in the order in which they came
}

// arriving is a connection that has a place or waits for one.
type arriving struct {
	group share.Group
	end   func() // called when the place is lost
	place *share.Place
	admit chan struct{} // closed when there is a place
}

func newAdmissions(l Limits) *admissions {
	return &admissions{places: share.NewPlaces(share.Limits{Most: l.Unwelcomed, Each: l.UnwelcomedEach}), patience: l.Hello / 2}
}

// admitConnection counts a connection in, as soon as there is room. The caller leaves when
// it is admitted or gone, and may do so twice. The function end is called when the place is
// lost to a connection of another address. The error is errCrowded or ctx's.
func (u *admissions) admitConnection(ctx context.Context, address string, end func()) (leave func(), err error) {
	w := &arriving{group: share.GroupOf(address), end: end, admit: make(chan struct{})}
	u.enter(w)
	if err := u.await(ctx, w); err != nil {
		u.giveUp(w)
		return nil, err
	}
	return sync.OnceFunc(func() { u.releaseConnection(w) }), nil
}

// await waits until a connection has a place.
func (u *admissions) await(ctx context.Context, w *arriving) error {
	select {
	case <-w.admit:
		return nil
	default:
	}
	limit := time.NewTimer(u.patience)
	defer limit.Stop()
	select {
	case <-w.admit:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return errCrowded
	}
}

// enter counts a connection in, or has it wait.
func (u *admissions) enter(w *arriving) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if place, ok := u.places.Take(w.group, w.end); ok {
		w.begin(place)
		return
	}
	u.waiting = append(u.waiting, w)
}

// begin ends the wait for a place.
func (w *arriving) begin(place *share.Place) {
	w.place = place
	close(w.admit)
}

// giveUp removes a connection that has waited, also when it was counted in meanwhile.
func (u *admissions) giveUp(w *arriving) {
	u.mu.Lock()
	i := slices.Index(u.waiting, w)
	if i >= 0 {
		u.waiting = slices.Delete(u.waiting, i, i+1)
	}
	u.mu.Unlock()
	if i < 0 {
		u.releaseConnection(w)
	}
}

// releaseConnection makes room for the first that waits and may come in.
func (u *admissions) releaseConnection(w *arriving) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w.place.Leave()
	for i, next := range u.waiting {
		if place, ok := u.places.TakeFree(next.group, next.end); ok {
			next.begin(place)
			u.waiting = slices.Delete(u.waiting, i, i+1)
			return
		}
	}
}

// Gate decides which agents may connect, and as whom.
type Gate interface {
	// Admit checks what an agent brings and changes nothing: the agent may not be
	// able to connect now, for another one of its name is connected. It is asked on
	// every connection. The error is a *Refused if the agent is to be told why; any
	// other error makes the agent try again later and is only logged.
	Admit(ctx context.Context, p JoinProof) (Identity, error)
}

// JoinProof is what an agent brings to be admitted.
type JoinProof struct {
	Agent    rm.AgentID
	Pool     string
	Hostname string
	// Address is where the connection comes from.
	Address string
	// Credential is what an earlier admission gave it, JoinToken what it brings
	// the first time, and Proof what a launched machine does instead. Any may be
	// empty.
	Credential token.Text
	JoinToken  token.Text
	Proof      cloud.Proof
}

// Identity is who an admitted agent is.
type Identity struct {
	Agent rm.AgentID
	// Pool is where it belongs; empty leaves the choice to the agent.
	Pool string
	// Launched says that the agent's machine was launched, and bears its id.
	Launched bool
	// Accept is called when the agent has its place, and lets it in: the credential
	// replaces the one that the agent has, unless empty. The error is as Admit's. It
	// may be nil.
	Accept func(ctx context.Context) (token.Text, error)
}

// Refused says why an agent may not connect.
type Refused struct {
	Reason string
	// Final means that trying again will not help until a person acts.
	Final bool
	// Rejoin means that a join token may help where the credential did not.
	Rejoin bool
	// Unwanted means that a machine which was launched has no reason to go on.
	Unwanted bool
	// Revoked means that an administrator wants the agent's tasks ended as well.
	Revoked bool
}

// Error is the sentence that the agent is told.
func (r *Refused) Error() string { return r.Reason }

// refuseRetry makes a refusal that is worth another try.
func refuseRetry(format string, args ...any) *Refused {
	return &Refused{Reason: excerpt.Format(format, args...)}
}

// refuseFinal makes one that is not.
func refuseFinal(format string, args ...any) *Refused {
	return &Refused{Reason: excerpt.Format(format, args...), Final: true}
}
