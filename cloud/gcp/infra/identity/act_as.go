package identity

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// accountUser lets machines be launched that have an account.
const accountUser = Predefined("roles/iam.serviceAccountUser")

// ActAs lets the master's account launch machines with the agents' account. On an account
// of the user's the role is the user's to give: it cannot be given before the master's
// account exists, and so is asked for when it does.
func ActAs(c *mark.Cluster, master, agent Holder) *Binding {
	_, existing := agent.(ExistingAccount)
	return &Binding{
		In: c, Name: "master-on-agent", Account: master, On: OnAccount(c, agent.Email()), After: agent,
		Grants: []Grant{{Role: accountUser}}, ByUser: existing,
		Fix: fmt.Sprintf("run `gcloud iam service-accounts add-iam-policy-binding %s --member %s --role %s`, and the same command again",
			agent.Email(), memberOf(master.Email()), accountUser),
	}
}

// findGiven looks whether the user has given the roles, in the place or in the whole
// project. Where that cannot be seen, nothing is asked for.
func (b *Binding) findGiven(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found := foundBinding(b.On, b.Account.Email())
	found.Shared = true // which no `down` takes away
	for _, on := range []Place{b.On, OnProject(b.In)} {
		live, err := on.get(ctx)
		switch cloud.KindOf(err) {
		case "":
		case cloud.Denied, cloud.NotFound:
			return found, nil, nil
		default:
			return resource.Found{}, nil, err
		}
		if len(live.grantsOf(memberOf(b.Account.Email()), b.isOurs)) >= len(b.Grants) {
			return found, nil, nil
		}
	}
	return resource.Found{}, nil, nil
}

// errNotGiven says what the user can do.
func (b *Binding) errNotGiven() error {
	return &cloud.Error{
		Kind: cloud.Denied, Op: "iam.projects.serviceAccounts.setIamPolicy", Resource: b.On.path, Fix: b.Fix,
		Err: errors.New("it is not the cluster's, and " + infra.NameOf(b.Account) + " has no role on it"),
	}
}
