package layout

import (
	"context"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// readDefaultAccount reads the e-mail of Compute Engine's default service account, if a machine
// uses it.
func (r *reader) readDefaultAccount(ctx context.Context) error {
	if r.Known.DefaultAccount != "" || !slices.Contains([]string{r.Spec.Roles.Master, r.Spec.Roles.Agent}, spec.DefaultAccount) {
		return nil
	}
	p, err := api.Do(ctx, r.facts.Clients.Compute.Projects.Get(r.facts.Clients.Project))
	if err != nil {
		return err
	}
	r.Known.DefaultAccount = p.DefaultServiceAccount
	if p.DefaultServiceAccount == "" {
		r.Known.DefaultAccount = facts.DefaultAccount(p.Id)
	}
	return nil
}

// MasterAccount returns the e-mail of the user's account for the master, or "" if the cluster
// creates one.
func (l Layout) MasterAccount() string { return l.accountOf(l.Spec.Roles.Master) }

// AgentAccount returns the e-mail of the user's account for agents, or "" if the cluster creates
// one or agents have none.
func (l Layout) AgentAccount() string { return l.accountOf(l.Spec.Roles.Agent) }

func (l Layout) accountOf(role string) string {
	switch role {
	case spec.DefaultAccount:
		return l.Known.DefaultAccount
	case spec.NoAccount:
		return ""
	}
	return role
}
