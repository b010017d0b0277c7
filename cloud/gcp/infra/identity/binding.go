package identity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/cloudresourcemanager/v3"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

type projectPolicy = cloudresourcemanager.Policy

// Binding is a set of roles granted to a service account in the project or on one resource.
type Binding struct {
	In *mark.Cluster
	// Name names the account and the resource: "master", "master-on-data".
	Name    string
	Account Holder
	// On is the resource with the IAM policy. If it belongs to the cluster, After refers to it.
	On    Place
	After infra.Ref
	// Grants are the roles.
	Grants []Grant
	// Fix is the advice for a caller that lacks the permission to grant them. It may be empty.
	Fix string
	// ByUser is set for resources of the user, whose policy is never changed: the binding only
	// checks the roles, and Fix describes how to grant them.
	ByUser bool
}

// Holder is a service account that can be granted roles.
type Holder interface {
	infra.Ref
	Email() string
}

// ExistingAccount is the email of an existing service account of the user.
type ExistingAccount string

// ID returns "", because nothing must be created first.
func (ExistingAccount) ID() string { return "" }

// Identity returns the email.
func (a ExistingAccount) Identity() string { return string(a) }

// Email returns the email.
func (a ExistingAccount) Email() string { return string(a) }

// Granted is a role that can be granted.
type Granted interface {
	// ID returns the ID of the resource that must exist first, or "" for a predefined role.
	ID() string
	// FullName returns the name of the role in policies.
	FullName() string
}

// Predefined is a predefined role: "roles/storage.objectUser".
type Predefined string

// ID returns "", because nothing must be created first.
func (Predefined) ID() string { return "" }

// FullName returns the name of the role.
func (p Predefined) FullName() string { return string(p) }

// Grant is a role with a condition. Nil means unconditional.
type Grant struct {
	Role Granted
	If   *Condition
}

// ID returns the resource ID "gcp/role-binding/NAME".
func (b *Binding) ID() string { return mark.ResourceID(mark.KindBinding, b.Name) }

// Kind returns KindBinding.
func (*Binding) Kind() string { return mark.KindBinding }

// Needs returns the IDs of the account, the roles and the resource.
func (b *Binding) Needs() []string {
	out := []string{b.Account.ID()}
	for _, g := range b.Grants {
		out = append(out, g.Role.ID())
	}
	out = append(out, infra.NeedsOf(b.After)...)
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(id string) bool { return id == "" })
}

// Describe returns the roles.
func (b *Binding) Describe() []string { return b.wanted() }

// Find compares the granted roles. Roles that det-deploy granted earlier and that are no longer
// wanted are revoked. Roles granted by a user remain.
func (b *Binding) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if b.ByUser {
		return b.findGiven(ctx)
	}
	live, err := b.On.get(ctx)
	if err != nil {
		return resource.Found{}, nil, b.explainDenied(infra.IgnoreMissing(err)) // the resource may not exist yet
	}
	member, listed := memberOf(b.Account.Email()), b.isOurs
	if slices.Contains(b.On.emails(b.In), b.Account.Email()) {
		listed = anyGrant // like ListBindings, so that the plan updates the entry and does not delete it
	}
	if !live.names(member, listed) {
		return resource.Found{}, nil, nil
	}
	have := live.grantsOf(member, b.isOurs)
	drift := infra.Differences(infra.Changeable("roles", cmp.Or(strings.Join(have, ", "), "none"), strings.Join(b.wanted(), ", ")))
	return foundBinding(b.On, b.Account.Email()), drift, nil
}

// wanted returns the wanted roles in the form of drift.
func (b *Binding) wanted() []string {
	var out []string
	for _, g := range b.Grants {
		out = append(out, grantText(g.Role.FullName(), g.If))
	}
	return slices.Sorted(slices.Values(out))
}

// foundBinding returns the inventory entry of a binding. Its ID is the account, preceded by the
// resource unless that is the project.
func foundBinding(on Place, email string) resource.Found {
	id := strings.TrimSpace(on.path + " " + email)
	return resource.Found{Kind: mark.KindBinding, ID: id, Name: id}
}

// Create grants the roles and revokes those that det-deploy granted earlier.
func (b *Binding) Create(ctx context.Context) error {
	if b.ByUser {
		return b.errNotGiven()
	}
	member := memberOf(b.Account.Email())
	return b.explainDenied(b.On.changePolicy(ctx, b.In, b.ID(), func(p *policy) {
		p.remove(member, b.isOurs)
		for _, g := range b.Grants {
			p.add(member, g.Role.FullName(), g.If)
		}
	}))
}

// isOurs reports whether a binding has one of det-deploy's roles, a condition of det-deploy, or is
// wanted.
func (b *Binding) isOurs(p policyBinding) bool {
	if p.Condition != nil && p.Condition.Title == conditionTitle(b.In) || strings.HasPrefix(p.Role, fullRole(b.In, rolePrefix)) {
		return true
	}
	return slices.ContainsFunc(b.Grants, func(g Grant) bool {
		return grantText(g.Role.FullName(), g.If) == grantText(p.Role, p.Condition)
	})
}

// Update replaces the granted roles.
func (b *Binding) Update(ctx context.Context, _ []resource.Drift) error { return b.Create(ctx) }

// Delete revokes the roles unless the user granted them.
func (b *Binding) Delete(ctx context.Context) error {
	if b.ByUser {
		return nil
	}
	return DeleteBinding(ctx, b.In, foundBinding(b.On, b.Account.Email()).ID)
}

// DeleteBinding revokes all of det-deploy's roles of an account on a resource.
func DeleteBinding(ctx context.Context, c *mark.Cluster, id string) error {
	at, email, onThing := strings.Cut(id, " ")
	if !onThing {
		at, email = "", id
	}
	on, known := placeAt(c, at)
	if !known {
		return fmt.Errorf("remove %s %s: unknown resource", mark.KindBinding, id)
	}
	return infra.IgnoreMissing(on.changePolicy(ctx, c, id, func(p *policy) {
		p.remove(memberOf(email), anyGrant)
	}))
}

// ListBindings returns the cluster's service accounts with roles that outlive the accounts: in the
// project, on data and secrets, and on a shared subnetwork. The roles of a deleted account remain
// in policies under another member name, and are revoked together with the others.
func ListBindings(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	places, err := listPlaces(ctx, c)
	if err != nil {
		return nil, err
	}
	found := make([][]resource.Found, len(places))
	calls := make([]func() error, len(places))
	for i, on := range places {
		calls[i] = func() (err error) {
			found[i], err = listBindingsOn(ctx, c, on)
			return err
		}
	}
	err = infra.SideBySide(calls...)
	return slices.Concat(found...), err
}

func listBindingsOn(ctx context.Context, c *mark.Cluster, on Place) ([]resource.Found, error) {
	live, err := on.get(ctx)
	if err != nil {
		return nil, infra.IgnoreMissing(err)
	}
	var out []resource.Found
	for _, email := range on.emails(c) {
		if live.names(memberOf(email), anyGrant) {
			out = append(out, foundBinding(on, email))
		}
	}
	return out, nil
}

// listPlaces returns the resources on which the cluster's accounts may have roles that outlive
// them.
func listPlaces(ctx context.Context, c *mark.Cluster) ([]Place, error) {
	out := []Place{OnProject(c)}
	if c.Shared != "" {
		out = append(out, OnSubnetwork(c, c.Shared))
	}
	buckets, err := storage.Buckets(c).Founds(ctx, c.Owned(), c.Found)
	if err != nil {
		return nil, err
	}
	for _, b := range buckets {
		out = append(out, OnBucket(c, b.ID))
	}
	secrets, err := storage.Secrets(c).Founds(ctx, c.Owned(), c.Found)
	for _, s := range secrets {
		out = append(out, OnSecret(c, s.ID))
	}
	return out, err
}

func anyGrant(policyBinding) bool { return true }

// emails returns the accounts whose roles on a resource are revoked with the cluster. On the
// cluster's own resources these include the user's accounts.
func (p Place) emails(c *mark.Cluster) []string {
	kind, _, _ := strings.Cut(p.path, "/")
	if kind == mark.KindBucket || kind == mark.KindSecret {
		return slices.Concat(ownEmails(c), c.Accounts)
	}
	return ownEmails(c)
}

// ownEmails returns the emails of a cluster's service accounts.
func ownEmails(c *mark.Cluster) []string {
	var out []string
	for _, name := range []string{"agent", "master"} {
		out = append(out, (&Account{In: c, Name: name}).Email())
	}
	return out
}

func isMemberOf(c *mark.Cluster, entry string) bool {
	return slices.ContainsFunc(ownEmails(c), func(email string) bool { return isSame(entry, memberOf(email)) })
}
