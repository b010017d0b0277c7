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

// accountUser is the role that allows attaching a service account to instances.
const accountUser = Predefined("roles/iam.serviceAccountUser")

// ActAs returns the binding that allows the master to launch instances with the agents' service
// account. On an existing account the user must grant the role: this is possible only once the
// master's account exists, so the user is asked then.
func ActAs(c *mark.Cluster, master, agent Holder) *Binding {
	_, existing := agent.(ExistingAccount)
	return &Binding{
		In: c, Name: "master-on-agent", Account: master, On: OnAccount(c, agent.Email()), After: agent,
		Grants: []Grant{{Role: accountUser}}, ByUser: existing,
		Fix: fmt.Sprintf("run `gcloud iam service-accounts add-iam-policy-binding %s --member %s --role %s`, then run the same command again",
			agent.Email(), memberOf(master.Email()), accountUser),
	}
}

// findGiven checks whether the user has granted the roles on the resource or in the project. If the
// policy cannot be read, it does not ask for them.
func (b *Binding) findGiven(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found := foundBinding(b.On, b.Account.Email())
	found.Shared = true // `down` does not delete it
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

// errNotGiven returns the error for a missing role of the user, with the command that grants it.
func (b *Binding) errNotGiven() error {
	return &cloud.Error{
		Kind: cloud.Denied, Op: "iam.projects.serviceAccounts.setIamPolicy", Resource: b.On.path, Fix: b.Fix,
		Err: errors.New("it does not belong to the cluster, and " + infra.NameOf(b.Account) + " has no role on it"),
	}
}
