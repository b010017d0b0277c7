package parts

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/attest"
	"github.com/det-deploy/det-deploy/cloud/aws/fleet"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// newAWSAttestor returns an attestor for the EC2 machines of all pools. It returns an error if the
// machines of a pool could not prove their identity.
func newAWSAttestor(env master.Env, pools []provider.AWS) (cloud.Attestor, error) {
	for _, p := range pools {
		if err := attest.CheckProfile(p.IAMInstanceProfileARN); err != nil {
			return nil, err
		}
	}
	return &lazyAttestor{lazy[cloud.Attestor]{open: func(ctx context.Context) (cloud.Attestor, error) {
		return openAWSVerifier(ctx, env, pools)
	}}}, nil
}

// openAWSVerifier looks up the roles of the pools' machines.
func openAWSVerifier(ctx context.Context, env master.Env, pools []provider.AWS) (*attest.Verifier, error) {
	home, err := fleet.Here(ctx)
	if err != nil {
		return nil, err
	}
	v := &attest.Verifier{Endpoint: awsEndpoint(), Now: time.Now}
	for _, p := range pools {
		clients, err := openAWSClients(ctx, env.Log, home, p)
		if err != nil {
			return nil, err
		}
		role, err := attest.RoleOf(ctx, clients.IAM, p.IAMInstanceProfileARN, env.Log)
		if err != nil {
			return nil, &cloud.Error{Kind: cloud.Unavailable, Op: "find the agents' role", Err: err}
		}
		v.Regions, v.Roles = append(v.Regions, clients.Region), append(v.Roles, role)
	}
	return v, nil
}
