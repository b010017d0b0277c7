package identity

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/secretmanager/v1"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
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
	version, err := json.Marshal(api.PolicyVersion)
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

func placeOf[T any](kind, name string, get func(context.Context) (*T, error), set func(context.Context, *T) error) Place {
	return Place{
		path: kind + "/" + name,
		get:  func(ctx context.Context) (policy, error) { return readPolicy(get(ctx)) },
		set: func(ctx context.Context, p policy) error {
			out, err := writePolicy[T](p)
			if err != nil {
				return err
			}
			return set(ctx, out)
		},
	}
}

// OnProject is the project as a whole.
func OnProject(c *mark.Cluster) Place {
	p := placeOf("project", c.Clients.Project, c.Clients.ProjectPolicy, func(ctx context.Context, in *projectPolicy) error {
		return api.Send(ctx, c.Clients.Resources.Projects.SetIamPolicy(c.Clients.ProjectName(), &cloudresourcemanager.SetIamPolicyRequest{Policy: in}))
	})
	p.path = ""
	return p
}

// OnBucket is one bucket with its objects.
func OnBucket(c *mark.Cluster, name string) Place {
	buckets := c.Clients.Storage.Buckets
	return placeOf(mark.KindBucket, name, func(ctx context.Context) (*storage.Policy, error) {
		return api.Do(ctx, buckets.GetIamPolicy(name).OptionsRequestedPolicyVersion(api.PolicyVersion))
	}, func(ctx context.Context, in *storage.Policy) error {
		in.ForceSendFields = []string{"Bindings"} // so that an empty list is sent too
		return api.Send(ctx, buckets.SetIamPolicy(name, in))
	})
}

// OnSecret is one secret, by its ID.
func OnSecret(c *mark.Cluster, id string) Place {
	secrets, name := c.Clients.Secrets.Projects.Secrets, c.Clients.SecretName(id)
	return placeOf(mark.KindSecret, id, func(ctx context.Context) (*secretmanager.Policy, error) {
		return api.Do(ctx, secrets.GetIamPolicy(name).OptionsRequestedPolicyVersion(api.PolicyVersion))
	}, func(ctx context.Context, in *secretmanager.Policy) error {
		return api.Send(ctx, secrets.SetIamPolicy(name, &secretmanager.SetIamPolicyRequest{Policy: in}))
	})
}

// OnAccount is one service account, which others may hand on to machines.
func OnAccount(c *mark.Cluster, email string) Place {
	accounts, name := c.Clients.IAM.Projects.ServiceAccounts, c.Clients.AccountName(email)
	return placeOf(mark.KindAccount, email, func(ctx context.Context) (*iam.Policy, error) {
		return api.Do(ctx, accounts.GetIamPolicy(name).OptionsRequestedPolicyVersion(api.PolicyVersion))
	}, func(ctx context.Context, in *iam.Policy) error {
		return api.Send(ctx, accounts.SetIamPolicy(name, &iam.SetIamPolicyRequest{Policy: in}))
	})
}

// OnSubnetwork is one subnetwork of the region. That of another project, of a shared VPC,
// is "HOST-PROJECT/NAME".
func OnSubnetwork(c *mark.Cluster, identity string) Place {
	subnetworks, region := c.Clients.Compute.Subnetworks, c.Clients.Region
	project, name := c.Clients.SplitProject(identity)
	return placeOf(mark.KindSubnetwork, identity, func(ctx context.Context) (*compute.Policy, error) {
		return api.Do(ctx, subnetworks.GetIamPolicy(project, region, name).OptionsRequestedPolicyVersion(api.PolicyVersion))
	}, func(ctx context.Context, in *compute.Policy) error {
		return api.Send(ctx, subnetworks.SetIamPolicy(project, region, name, &compute.RegionSetPolicyRequest{Policy: in}))
	})
}

// placeAt is the place of a path.
func placeAt(c *mark.Cluster, path string) (Place, bool) {
	kind, name, _ := strings.Cut(path, "/")
	switch kind {
	case "":
		return OnProject(c), true
	case mark.KindBucket:
		return OnBucket(c, name), true
	case mark.KindSecret:
		return OnSecret(c, name), true
	case mark.KindAccount:
		return OnAccount(c, name), true
	case mark.KindSubnetwork:
		return OnSubnetwork(c, name), true
	}
	return Place{}, false
}

// changePolicy reads a policy, changes it, and writes it under its etag: again, when
// another process wrote it meanwhile. It writes nothing that is as it was.
func (p Place) changePolicy(ctx context.Context, c *mark.Cluster, subject string, change func(*policy)) error {
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
