package auth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
)

// revokedRecord is the tombstone of an agent, which cannot join again by any means until an
// administrator readmits it.
type revokedRecord struct {
	At time.Time `json:"at"`
	By string    `json:"by"`
	// Launched marks a launched machine, which is terminated.
	Launched bool `json:"launched,omitempty"`
}

func revocationCollection() store.Collection[revokedRecord] {
	return store.Collection[revokedRecord]{Kind: "agent_revoked"}
}

func (a *admissions) loadRevoked(ctx context.Context) error {
	docs, err := revocationCollection().All(ctx, a.cfg.Store)
	for _, d := range docs {
		a.revoked[d.ID] = d.Value
	}
	return err
}

// RevokedError reports an agent that an administrator has revoked.
type RevokedError struct {
	Agent string
	At    time.Time
}

// Error names the command that readmits the agent.
func (e *RevokedError) Error() string {
	return fmt.Sprintf("agent '%s' was revoked at %s; `det-deploy agent admit %s` lets it join again",
		e.Agent, e.At.UTC().Format(time.RFC3339), e.Agent)
}

// Unwrap returns an error with the code for clients.
func (e *RevokedError) Unwrap() error {
	return &status.Error{Code: status.PermissionDenied, Message: e.Error()}
}

// checkRevoked returns a *RevokedError if the agent was revoked, and nil otherwise.
func (a *admissions) checkRevoked(agent string) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if rec, found := a.revoked[agent]; found {
		return &RevokedError{Agent: agent, At: rec.At}
	}
	return nil
}

// Revoke invalidates the credential of an agent and prevents it from joining again by any means. An
// unknown agent is not an error: a machine may be revoked before it joins.
func (a *admissions) Revoke(ctx context.Context, agent, by string, l Launches) error {
	if agent == "" {
		return status.New(status.InvalidArgument, "an agent needs an id")
	}
	rec := revokedRecord{At: a.cfg.Now(), By: by, Launched: a.IsMachine(agent, l)}
	a.change.Lock()
	defer a.change.Unlock()
	err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if err := revocationCollection().Put(tx, agent, "", rec.At, rec); err != nil {
			return err
		}
		return agentCollection().Delete(tx, agent)
	})
	if err != nil {
		return fmt.Errorf("revoke agent %s: %w", agent, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revoked[agent] = rec
	delete(a.agents, agent)
	return nil
}

// Readmit reverts Revoke: the agent may join again, with a join token or a proof of its identity.
// It does not return an error for an agent that is not revoked.
func (a *admissions) Readmit(ctx context.Context, agent string) error {
	a.change.Lock()
	defer a.change.Unlock()
	if err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error { return revocationCollection().Delete(tx, agent) }); err != nil {
		return fmt.Errorf("admit agent %s: %w", agent, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.revoked, agent)
	return nil
}

// Revoked returns the revoked agents by ID.
func (a *admissions) Revoked() []*apiv1.RevokedAgent {
	a.mu.RLock()
	defer a.mu.RUnlock()
	out := make([]*apiv1.RevokedAgent, 0, len(a.revoked))
	for _, id := range slices.Sorted(maps.Keys(a.revoked)) {
		rec := a.revoked[id]
		out = append(out, &apiv1.RevokedAgent{Id: id, RevokedAt: timestamppb.New(rec.At), RevokedBy: rec.By, Launched: rec.Launched})
	}
	return out
}

// ForgetMachines deletes the credentials and tombstones of machines that have ended. IDs are not
// reused, and a machine that was not launched is not admitted.
func (a *admissions) ForgetMachines(ctx context.Context, l Launches) error {
	var over []string
	a.mu.RLock()
	for id, rec := range a.agents {
		if _, launched := l.Launched(cloud.InstanceID(id)); rec.Instance != "" && !launched {
			over = append(over, id)
		}
	}
	for id, rec := range a.revoked {
		if _, launched := l.Launched(cloud.InstanceID(id)); rec.Launched && !launched {
			over = append(over, id)
		}
	}
	a.mu.RUnlock()
	for _, id := range over {
		if err := a.forgetMachine(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (a *admissions) forgetMachine(ctx context.Context, agent string) error {
	a.change.Lock()
	defer a.change.Unlock()
	err := a.cfg.Store.Write(ctx, func(tx *store.Tx) error {
		if err := revocationCollection().Delete(tx, agent); err != nil {
			return err
		}
		return agentCollection().Delete(tx, agent)
	})
	if err != nil {
		return fmt.Errorf("forget machine %s: %w", agent, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.agents, agent)
	delete(a.revoked, agent)
	return nil
}
