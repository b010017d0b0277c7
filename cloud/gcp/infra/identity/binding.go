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

// Binding gives an account roles: in the project, or on one thing.
type Binding struct {
	In *mark.Cluster
	// Name is whose it is, and on what: "master", "master-on-data".
	Name    string
	Account Holder
	// On is where the roles count. That of a thing of the cluster's is After it.
	On    Place
	After infra.Ref
	// Grants are the roles.
	Grants []Grant
	// Fix is what a person can do where the caller may not; it may be empty.
	Fix string
	// ByUser is true on something of the user's own, which is never changed: the roles are
	// looked for, and Fix says how to give them.
	ByUser bool
}

// Holder is a service account.
type Holder interface {
	infra.Ref
	Email() string
}

// ExistingAccount is the e-mail address of an account of the user's.
type ExistingAccount string

// ID is empty: nothing has to be made first.
func (ExistingAccount) ID() string { return "" }

// Identity is what the user said.
func (a ExistingAccount) Identity() string { return string(a) }

// Email is what the user said.
func (a ExistingAccount) Email() string { return string(a) }

// Granted is a role that an account is given.
type Granted interface {
	// ID is the resource that has to be there first, or empty when none has.
	ID() string
	// FullName is the role as policies name it.
	FullName() string
}

// Predefined is a role of Google's: "roles/storage.objectUser".
type Predefined string

// ID is empty: nothing has to be made first.
func (Predefined) ID() string { return "" }

// FullName is its name.
func (p Predefined) FullName() string { return string(p) }

// Grant is a role, and for what it counts; nil is for everything.
type Grant struct {
	Role Granted
	If   *Condition
}

// ID is "gcp/role-binding/" and its name.
func (b *Binding) ID() string { return mark.ResourceID(mark.KindBinding, b.Name) }

// Kind is KindBinding.
func (*Binding) Kind() string { return mark.KindBinding }

// Needs its account and its roles, and what it is on.
func (b *Binding) Needs() []string {
	out := []string{b.Account.ID()}
	for _, g := range b.Grants {
		out = append(out, g.Role.ID())
	}
	out = append(out, infra.NeedsOf(b.After)...)
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(id string) bool { return id == "" })
}

// Describe lists the roles.
func (b *Binding) Describe() []string { return b.wanted() }

// Find looks which roles the account has. Another role of ours that it has is one that it
// had before, and is taken away. A role that a user gave it stays.
func (b *Binding) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	if b.ByUser {
		return b.findGiven(ctx)
	}
	live, err := b.On.get(ctx)
	if err != nil {
		return resource.Found{}, nil, b.explainDenied(infra.IgnoreMissing(err)) // what it is on may not be there yet
	}
	member, listed := memberOf(b.Account.Email()), b.isOurs
	if slices.Contains(b.On.emails(b.In), b.Account.Email()) {
		listed = anyGrant // as ListBindings has it, so that the plan updates the entry and does not remove it
	}
	if !live.names(member, listed) {
		return resource.Found{}, nil, nil
	}
	have := live.grantsOf(member, b.isOurs)
	drift := infra.Differences(infra.Changeable("roles", cmp.Or(strings.Join(have, ", "), "none"), strings.Join(b.wanted(), ", ")))
	return foundBinding(b.On, b.Account.Email()), drift, nil
}

// wanted lists what is wanted, as drift shows it.
func (b *Binding) wanted() []string {
	var out []string
	for _, g := range b.Grants {
		out = append(out, grantText(g.Role.FullName(), g.If))
	}
	return slices.Sorted(slices.Values(out))
}

// foundBinding has as its ID the account, and before it the place, unless that is the
// project.
func foundBinding(on Place, email string) resource.Found {
	id := strings.TrimSpace(on.path + " " + email)
	return resource.Found{Kind: mark.KindBinding, ID: id, Name: id}
}

// Create gives the account the roles, in place of those that it had of us.
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

// isOurs reports whether a role is one of ours, one under a condition of ours, or one that
// is wanted.
func (b *Binding) isOurs(p policyBinding) bool {
	if p.Condition != nil && p.Condition.Title == conditionTitle(b.In) || strings.HasPrefix(p.Role, fullRole(b.In, rolePrefix)) {
		return true
	}
	return slices.ContainsFunc(b.Grants, func(g Grant) bool {
		return grantText(g.Role.FullName(), g.If) == grantText(p.Role, p.Condition)
	})
}

// Update gives the account the roles in place of those that it had.
func (b *Binding) Update(ctx context.Context, _ []resource.Drift) error { return b.Create(ctx) }

// Delete takes the roles away that the user did not give.
func (b *Binding) Delete(ctx context.Context) error {
	if b.ByUser {
		return nil
	}
	return DeleteBinding(ctx, b.In, foundBinding(b.On, b.Account.Email()).ID)
}

// DeleteBinding takes all roles away that an account has in some place.
func DeleteBinding(ctx context.Context, c *mark.Cluster, id string) error {
	at, email, onThing := strings.Cut(id, " ")
	if !onThing {
		at, email = "", id
	}
	on, known := placeAt(c, at)
	if !known {
		return fmt.Errorf("remove %s %s: this program knows no such place on Google Cloud", mark.KindBinding, id)
	}
	return infra.IgnoreMissing(on.changePolicy(ctx, c, id, func(p *policy) {
		p.remove(memberOf(email), anyGrant)
	}))
}

// ListBindings lists the accounts of the cluster that have roles, where these outlive the
// accounts: in the project, on data and secrets, and on a shared subnetwork. An account
// that is gone leaves its roles behind under another name, and they go with it.
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

// listPlaces lists where accounts of the cluster may have roles that outlive them.
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

// emails are the accounts whose roles in a place go with the cluster: where it is the
// cluster's own, also those of the user's accounts.
func (p Place) emails(c *mark.Cluster) []string {
	kind, _, _ := strings.Cut(p.path, "/")
	if kind == mark.KindBucket || kind == mark.KindSecret {
		return slices.Concat(ownEmails(c), c.Accounts)
	}
	return ownEmails(c)
}

// ownEmails are the accounts that a cluster has, by their names.
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
