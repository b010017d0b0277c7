package identity

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/api/cloudresourcemanager/v3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Binding gives an account a role in the project.
type Binding struct {
	In *owner.Cluster
	// Name is whose it is: "master".
	Name    string
	Account *Account
	Role    *Role
}

// ID is "gcp/role-binding/" and its name.
func (b *Binding) ID() string { return owner.ResourceID(owner.KindBinding, b.Name) }

// Kind is KindBinding.
func (*Binding) Kind() string { return owner.KindBinding }

// Needs its account and its role.
func (b *Binding) Needs() []string { return []string{b.Account.ID(), b.Role.ID()} }

// Find looks whether the account has the role. Another role of ours that it has is one
// that it had before, and is taken away. A role that a user gave it stays.
func (b *Binding) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	policy, err := b.In.Clients.Projects.GetPolicy(ctx)
	if err != nil {
		return resource.Found{}, nil, err
	}
	roles := slices.DeleteFunc(rolesOf(policy, memberOf(b.Account.Email())), b.isUsers)
	if len(roles) == 0 {
		return resource.Found{}, nil, nil
	}
	want := b.Role.FullName()
	drift := infra.Differences(infra.Changeable("role", strings.Join(roles, ", "), want))
	return foundBinding(b.Account.Email()), drift, nil
}

func foundBinding(email string) resource.Found {
	return resource.Found{Kind: owner.KindBinding, ID: email, Name: email}
}

// Create gives the account the role.
func (b *Binding) Create(ctx context.Context) error {
	member, role := memberOf(b.Account.Email()), b.Role.FullName()
	return changePolicy(ctx, b.In, b.ID(), func(p *cloudresourcemanager.Policy) {
		removeMember(p, member, func(role string) bool { return !b.isUsers(role) })
		i := slices.IndexFunc(p.Bindings, func(x *cloudresourcemanager.Binding) bool { return x.Role == role && x.Condition == nil })
		if i < 0 {
			p.Bindings = append(p.Bindings, &cloudresourcemanager.Binding{Role: role, Members: []string{member}})
			return
		}
		p.Bindings[i].Members = append(p.Bindings[i].Members, member)
	})
}

// isUsers reports whether a role is none of ours.
func (b *Binding) isUsers(role string) bool {
	return !strings.HasPrefix(role, fullRole(b.In, rolePrefix))
}

// Update gives the account the role in place of those that it had.
func (b *Binding) Update(ctx context.Context, _ []resource.Drift) error { return b.Create(ctx) }

// Delete takes the role away.
func (b *Binding) Delete(ctx context.Context) error {
	return DeleteBinding(ctx, b.In, b.Account.Email())
}

// DeleteBinding takes all roles of the project away from an account.
func DeleteBinding(ctx context.Context, c *owner.Cluster, email string) error {
	return changePolicy(ctx, c, email, func(p *cloudresourcemanager.Policy) {
		removeMember(p, memberOf(email), func(string) bool { return true })
	})
}

// ListBindings lists the accounts of the cluster that have roles in the project. An
// account that is gone leaves its roles behind under another name, and they go with it.
func ListBindings(ctx context.Context, c *owner.Cluster) ([]resource.Found, error) {
	policy, err := c.Clients.Projects.GetPolicy(ctx)
	if err != nil {
		return nil, err
	}
	var out []resource.Found
	for _, email := range ownEmails(c) {
		if len(rolesOf(policy, memberOf(email))) > 0 {
			out = append(out, foundBinding(email))
		}
	}
	return out, nil
}

// changePolicy reads the project's policy, changes it, and writes it under its etag:
// again, when another process wrote it meanwhile. It writes nothing that is as it was.
func changePolicy(ctx context.Context, c *owner.Cluster, subject string, change func(*cloudresourcemanager.Policy)) error {
	return c.Waiter().RetryOn(ctx, subject, infra.ToAppear, cloud.Conflict, func() error {
		policy, err := c.Clients.Projects.GetPolicy(ctx)
		if err != nil {
			return err
		}
		before := policyText(policy)
		change(policy)
		if policyText(policy) == before {
			return nil
		}
		policy.Version = policyVersion
		return c.Waiter().RetryUntilKnown(ctx, subject, func() error { return c.Clients.Projects.SetPolicy(ctx, policy) })
	})
}

// policyVersion is that of policies that may have conditions.
const policyVersion = 3

func policyText(p *cloudresourcemanager.Policy) string {
	var out []string
	for _, b := range p.Bindings {
		out = append(out, b.Role+" "+strings.Join(slices.Sorted(slices.Values(b.Members)), " "))
	}
	return strings.Join(slices.Sorted(slices.Values(out)), "\n")
}

// removeMember takes some roles away from a member, also where they are kept of an account
// that is gone.
func removeMember(p *cloudresourcemanager.Policy, member string, from func(role string) bool) {
	for _, b := range p.Bindings {
		if !from(b.Role) {
			continue
		}
		b.Members = slices.DeleteFunc(b.Members, func(m string) bool { return isSame(m, member) })
	}
	p.Bindings = slices.DeleteFunc(p.Bindings, func(b *cloudresourcemanager.Binding) bool { return len(b.Members) == 0 })
}

func rolesOf(p *cloudresourcemanager.Policy, member string) []string {
	var out []string
	for _, b := range p.Bindings {
		if slices.ContainsFunc(b.Members, func(m string) bool { return isSame(m, member) }) {
			out = append(out, b.Role)
		}
	}
	return slices.Sorted(slices.Values(out))
}

// isSame reports whether an entry of a policy is a member. That of an account that is
// gone reads "deleted:serviceAccount:E-MAIL?uid=NUMBER".
func isSame(entry, member string) bool {
	rest, deleted := strings.CutPrefix(entry, "deleted:")
	if deleted {
		rest, _, _ = strings.Cut(rest, "?uid=")
	}
	return rest == member
}

func memberOf(email string) string { return "serviceAccount:" + email }

// ownEmails are the accounts that a cluster has, by their names.
func ownEmails(c *owner.Cluster) []string {
	var out []string
	for _, name := range []string{"agent", "master"} {
		out = append(out, (&Account{In: c, Name: name}).Email())
	}
	return out
}

func isMemberOf(c *owner.Cluster, entry string) bool {
	return slices.ContainsFunc(ownEmails(c), func(email string) bool { return isSame(entry, memberOf(email)) })
}
