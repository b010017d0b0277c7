package identity

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/owner"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// policy is who has which role, in the form that all of Google's services have for it.
type policy struct {
	Bindings []policyBinding
	// rest is everything else that it has: its etag, and what we do not know.
	rest map[string]json.RawMessage
}

type policyBinding struct {
	Role      string     `json:"role"`
	Members   []string   `json:"members"`
	Condition *Condition `json:"condition,omitempty"`
}

// Condition says for what a role counts.
type Condition struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Location    string `json:"location,omitempty"`
	Expression  string `json:"expression"`
}

// policyVersion is that of policies that may have conditions.
const policyVersion = 3

// readPolicy reads a policy off that of a service.
func readPolicy[T any](in *T, err error) (policy, error) {
	if err != nil {
		return policy{}, err
	}
	text, err := json.Marshal(in)
	if err != nil {
		return policy{}, err
	}
	var p policy
	var known struct{ Bindings []policyBinding }
	if err := json.Unmarshal(text, &p.rest); err != nil {
		return policy{}, err
	}
	if err := json.Unmarshal(text, &known); err != nil {
		return policy{}, err
	}
	p.Bindings = known.Bindings
	return p, nil
}

// writePolicy is a policy as a service takes it.
func writePolicy[T any](p policy) (*T, error) {
	bindings, err := json.Marshal(p.Bindings)
	if err != nil {
		return nil, err
	}
	version, err := json.Marshal(policyVersion)
	if err != nil {
		return nil, err
	}
	p.rest["bindings"], p.rest["version"] = bindings, version
	text, err := json.Marshal(p.rest)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(text, out)
}

// Place is something that has a policy: the project, or one thing in it.
type Place struct {
	// path tells it from others: "bucket/det-deploy-lab-data-1"; it is empty for the project.
	path string
	get  func(context.Context) (policy, error)
	set  func(context.Context, policy) error
}

func placeOf[T any](kind, name string, get func(context.Context, string) (*T, error), set func(context.Context, string, *T) error) Place {
	return Place{
		path: kind + "/" + name,
		get:  func(ctx context.Context) (policy, error) { return readPolicy(get(ctx, name)) },
		set: func(ctx context.Context, p policy) error {
			out, err := writePolicy[T](p)
			if err != nil {
				return err
			}
			return set(ctx, name, out)
		},
	}
}

// OnProject is the project as a whole.
func OnProject(c *owner.Cluster) Place {
	projects := c.Clients.Projects
	p := placeOf("project", c.Clients.Project,
		func(ctx context.Context, _ string) (*projectPolicy, error) { return projects.GetPolicy(ctx) },
		func(ctx context.Context, _ string, in *projectPolicy) error { return projects.SetPolicy(ctx, in) })
	p.path = ""
	return p
}

// OnBucket is one bucket with its objects.
func OnBucket(c *owner.Cluster, name string) Place {
	set := func(ctx context.Context, name string, in *storage.Policy) error {
		in.ForceSendFields = []string{"Bindings"} // that there are none is said as well
		return c.Clients.Buckets.SetPolicy(ctx, name, in)
	}
	return placeOf(owner.KindBucket, name, c.Clients.Buckets.GetPolicy, set)
}

// OnSecret is one secret, by its ID.
func OnSecret(c *owner.Cluster, id string) Place {
	return placeOf(owner.KindSecret, id, c.Clients.Secrets.GetPolicy, c.Clients.Secrets.SetPolicy)
}

// OnAccount is one service account, which others may hand on to machines.
func OnAccount(c *owner.Cluster, email string) Place {
	return placeOf(owner.KindAccount, email, c.Clients.Accounts.GetPolicy, c.Clients.Accounts.SetPolicy)
}

// OnSubnetwork is one subnetwork of the region. That of another project, of a shared VPC,
// is "HOST-PROJECT/NAME".
func OnSubnetwork(c *owner.Cluster, name string) Place {
	return placeOf(owner.KindSubnetwork, name, c.Clients.Subnetworks.GetPolicy, c.Clients.Subnetworks.SetPolicy)
}

// placeAt is the place of a path.
func placeAt(c *owner.Cluster, path string) (Place, bool) {
	kind, name, _ := strings.Cut(path, "/")
	switch kind {
	case "":
		return OnProject(c), true
	case owner.KindBucket:
		return OnBucket(c, name), true
	case owner.KindSecret:
		return OnSecret(c, name), true
	case owner.KindAccount:
		return OnAccount(c, name), true
	case owner.KindSubnetwork:
		return OnSubnetwork(c, name), true
	}
	return Place{}, false
}

// changePolicy reads a policy, changes it, and writes it under its etag: again, when
// another process wrote it meanwhile. It writes nothing that is as it was.
func (p Place) changePolicy(ctx context.Context, c *owner.Cluster, subject string, change func(*policy)) error {
	return c.Waiter().RetryOn(ctx, subject, infra.ToAppear, cloud.Conflict, func() error {
		live, err := p.get(ctx)
		if err != nil {
			return err
		}
		before := live.text()
		change(&live)
		if live.text() == before {
			return nil
		}
		return c.Waiter().RetryUntilKnown(ctx, subject, func() error { return p.set(ctx, live) })
	})
}

// text is the same for policies that give the same.
func (p *policy) text() string {
	var out []string
	for _, b := range p.Bindings {
		for _, m := range b.Members {
			out = append(out, grantText(b.Role, b.Condition)+" "+m)
		}
	}
	return strings.Join(slices.Sorted(slices.Values(out)), "\n")
}

// grantText is how drift shows a role that counts for some things, or for all.
func grantText(role string, c *Condition) string {
	if c == nil {
		return role
	}
	return role + " if " + c.Expression
}

// remove takes some roles away from a member, also where they are kept of an account that
// is gone.
func (p *policy) remove(member string, from func(policyBinding) bool) {
	for i, b := range p.Bindings {
		if from(b) {
			p.Bindings[i].Members = slices.DeleteFunc(slices.Clone(b.Members), func(m string) bool { return isSame(m, member) })
		}
	}
	p.Bindings = slices.DeleteFunc(p.Bindings, func(b policyBinding) bool { return len(b.Members) == 0 })
}

// add gives a member a role.
func (p *policy) add(member, role string, condition *Condition) {
	i := slices.IndexFunc(p.Bindings, func(b policyBinding) bool {
		return grantText(b.Role, b.Condition) == grantText(role, condition)
	})
	if i < 0 {
		p.Bindings = append(p.Bindings, policyBinding{Role: role, Members: []string{member}, Condition: condition})
		return
	}
	p.Bindings[i].Members = append(p.Bindings[i].Members, member)
}

// grantsOf lists the roles that a member has, of those that are of interest. Roles of a
// deleted account do not count, because a new account of the same address does not have them.
func (p *policy) grantsOf(member string, of func(policyBinding) bool) []string {
	var out []string
	for _, b := range p.Bindings {
		if of(b) && slices.Contains(b.Members, member) {
			out = append(out, grantText(b.Role, b.Condition))
		}
	}
	return slices.Sorted(slices.Values(out))
}

// names reports whether a role of interest names a member, or an account of its address that
// was deleted.
func (p *policy) names(member string, of func(policyBinding) bool) bool {
	return slices.ContainsFunc(p.Bindings, func(b policyBinding) bool {
		return of(b) && slices.ContainsFunc(b.Members, func(m string) bool { return isSame(m, member) })
	})
}

// isSame reports whether an entry of a policy is a member, for removing it. That of a deleted
// account reads "deleted:serviceAccount:E-MAIL?uid=NUMBER".
func isSame(entry, member string) bool {
	rest, deleted := strings.CutPrefix(entry, "deleted:")
	if deleted {
		rest, _, _ = strings.Cut(rest, "?uid=")
	}
	return rest == member
}

func memberOf(email string) string { return "serviceAccount:" + email }
