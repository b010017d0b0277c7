package master

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

// admissions carries out what administrators decide about agents, wherever it has an effect:
// on what may join, on what is connected, and on what was launched.
type admissions struct {
	*auth.Auth
	launchers *launcher.Launchers
	// expel cuts an agent's link; it is nil where tasks do not run on agents.
	expel func(id rm.AgentID, reason string)
}

var _ server.Admissions = admissions{}

// Revoke implements server.Admissions. What keeps the agent out is stored first, so
// that whatever is interrupted behind it is done by endRevoked.
func (a admissions) Revoke(ctx context.Context, agent, by string) error {
	if err := a.Auth.Revoke(ctx, agent, by, a.launchers); err != nil {
		return err
	}
	a.end(agent, by)
	return nil
}

func (a admissions) end(agent, by string) {
	reason := "it was revoked by " + by
	if a.expel != nil {
		a.expel(rm.AgentID(agent), "agent "+agent+" was revoked by "+by)
	}
	a.launchers.Revoked(cloud.InstanceID(agent), reason)
}

// endRevoked ends the machines that an earlier master was asked to end.
func (a admissions) endRevoked() {
	for _, r := range a.Revoked() {
		if r.GetLaunched() {
			a.launchers.Revoked(cloud.InstanceID(r.GetId()), "it was revoked by "+r.GetRevokedBy())
		}
	}
}

// CreateJoinToken implements server.Admissions.
func (a admissions) CreateJoinToken(ctx context.Context, r *apiv1.CreateJoinTokenRequest, by string) (*apiv1.CreateJoinTokenResponse, error) {
	text, j, err := a.Auth.CreateJoinToken(ctx, auth.NewJoin{
		Pool: r.GetResourcePool(), Uses: int(r.GetUses()), Life: time.Duration(r.GetValidForSeconds()) * time.Second, By: by,
	})
	return &apiv1.CreateJoinTokenResponse{Token: string(text), JoinToken: j}, err
}
