package admission

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/launcher"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server"
)

// API applies the decisions of administrators about agents: to agents that join, to those
// connected, and to machines that were launched.
type API struct {
	*auth.Auth
	Launchers *launcher.Launchers
	// Expel closes an agent's link; it is nil where tasks do not run on agents.
	Expel func(id rm.AgentID, reason string)
}

var _ server.Admissions = API{}

// Revoke implements server.Admissions. It stores the revocation first; if the master stops before
// the rest is done, EndRevoked completes it after the restart.
func (a API) Revoke(ctx context.Context, agent, by string) error {
	if err := a.Auth.Revoke(ctx, agent, by, a.Launchers); err != nil {
		return err
	}
	a.endAgent(agent, by)
	return nil
}

func (a API) endAgent(agent, by string) {
	reason := "it was revoked by " + by
	if a.Expel != nil {
		a.Expel(rm.AgentID(agent), "agent "+agent+" was revoked by "+by)
	}
	a.Launchers.Revoked(cloud.InstanceID(agent), reason)
}

// EndRevoked terminates the launched machines whose revocation an earlier master left incomplete.
func (a API) EndRevoked() {
	for _, r := range a.Revoked() {
		if r.GetLaunched() {
			a.Launchers.Revoked(cloud.InstanceID(r.GetId()), "it was revoked by "+r.GetRevokedBy())
		}
	}
}

// CreateJoinToken implements server.Admissions.
func (a API) CreateJoinToken(ctx context.Context, r *apiv1.CreateJoinTokenRequest, by string) (*apiv1.CreateJoinTokenResponse, error) {
	text, j, err := a.Auth.CreateJoinToken(ctx, auth.NewJoin{
		Pool: r.GetResourcePool(), Uses: int(r.GetUses()), Life: time.Duration(r.GetValidForSeconds()) * time.Second, By: by,
	})
	return &apiv1.CreateJoinTokenResponse{Token: string(text), JoinToken: j}, err
}
