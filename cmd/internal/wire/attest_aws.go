package wire

import (
	"context"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/attest"
	"github.com/det-deploy/det-deploy/cloud/aws/fleet"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// awsAttestor checks the proofs of EC2's machines, of all pools. It looks for
// their roles when the first one comes, so that a master starts while Amazon is
// out of order.
type awsAttestor struct {
	env   master.Env
	pools []provider.AWS

	// mu guards verifier, nil until the roles are known.
	mu       sync.Mutex
	verifier *attest.Verifier
}

var _ cloud.Attestor = (*awsAttestor)(nil)

// newAWSAttestor refuses pools whose machines could prove nothing.
func newAWSAttestor(env master.Env, pools []provider.AWS) (*awsAttestor, error) {
	for _, p := range pools {
		if err := attest.CheckProfile(p.IAMInstanceProfileARN); err != nil {
			return nil, err
		}
	}
	return &awsAttestor{env: env, pools: pools}, nil
}

// Attest implements cloud.Attestor.
func (a *awsAttestor) Attest(ctx context.Context, audience string, proof cloud.Proof) (cloud.Attested, error) {
	v, err := a.openVerifier(ctx)
	if err != nil {
		return cloud.Attested{}, err
	}
	return v.Attest(ctx, audience, proof)
}

func (a *awsAttestor) openVerifier(ctx context.Context) (*attest.Verifier, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.verifier != nil {
		return a.verifier, nil
	}
	home, err := fleet.Here(ctx)
	if err != nil {
		return nil, err
	}
	v := &attest.Verifier{Endpoint: awsEndpoint(), Now: time.Now}
	for _, p := range a.pools {
		clients, err := openAWSClients(ctx, a.env.Log, home, p)
		if err != nil {
			return nil, err
		}
		role, err := attest.RoleOf(ctx, clients.IAM, p.IAMInstanceProfileARN, a.env.Log)
		if err != nil {
			return nil, &cloud.Error{Kind: cloud.Unavailable, Op: "find the role of agents' machines", Err: err}
		}
		v.Regions, v.Roles = append(v.Regions, clients.Region), append(v.Roles, role)
	}
	a.verifier = v
	return v, nil
}
