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

// policy is an IAM policy, in the form common to all Google services.
type policy struct {
	Bindings []policyBinding
	// rest holds all other fields: the etag and unknown ones.
	rest map[string]json.RawMessage
}

type policyBinding struct {
	Role      string     `json:"role"`
	Members   []string   `json:"members"`
	Condition *Condition `json:"condition,omitempty"`
}

// Condition restricts a role to some resources.
type Condition struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Location    string `json:"location,omitempty"`
	Expression  string `json:"expression"`
}

// readPolicy converts the policy type of a service.
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

// writePolicy converts a policy to the type of a service.
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

// Place is a resource with an IAM policy: the project, or a resource in it.
type Place struct {
	// path identifies the resource: "bucket/det-deploy-lab-data-1". It is empty for the project.
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

// OnProject returns the project.
func OnProject(c *mark.Cluster) Place {
	p := placeOf("project", c.Clients.Project, c.Clients.ProjectPolicy, func(ctx context.Context, in *projectPolicy) error {
		return api.Send(ctx, c.Clients.Resources.Projects.SetIamPolicy(c.Clients.ProjectName(), &cloudresourcemanager.SetIamPolicyRequest{Policy: in}))
	})
	p.path = ""
	return p
}

// OnBucket returns a bucket with its objects.
func OnBucket(c *mark.Cluster, name string) Place {
	buckets := c.Clients.Storage.Buckets
	return placeOf(mark.KindBucket, name, func(ctx context.Context) (*storage.Policy, error) {
		return api.Do(ctx, buckets.GetIamPolicy(name).OptionsRequestedPolicyVersion(api.PolicyVersion))
	}, func(ctx context.Context, in *storage.Policy) error {
		in.ForceSendFields = []string{"Bindings"} // so that an empty list is sent too
		return api.Send(ctx, buckets.SetIamPolicy(name, in))
	})
}

// OnSecret returns a secret by its ID.
func OnSecret(c *mark.Cluster, id string) Place {
	secrets, name := c.Clients.Secrets.Projects.Secrets, c.Clients.SecretName(id)
	return placeOf(mark.KindSecret, id, func(ctx context.Context) (*secretmanager.Policy, error) {
		return api.Do(ctx, secrets.GetIamPolicy(name).OptionsRequestedPolicyVersion(api.PolicyVersion))
	}, func(ctx context.Context, in *secretmanager.Policy) error {
		return api.Send(ctx, secrets.SetIamPolicy(name, &secretmanager.SetIamPolicyRequest{Policy: in}))
	})
}

// OnAccount returns a service account, whose policy controls who may attach it to instances.
func OnAccount(c *mark.Cluster, email string) Place {
	accounts, name := c.Clients.IAM.Projects.ServiceAccounts, c.Clients.AccountName(email)
	return placeOf(mark.KindAccount, email, func(ctx context.Context) (out *iam.Policy, err error) {
		err = retryWhileNew(ctx, c, email, "iam.serviceAccounts.getIamPolicy", func() error {
			out, err = api.Do(ctx, accounts.GetIamPolicy(name).OptionsRequestedPolicyVersion(api.PolicyVersion))
			return err
		})
		return out, err
	}, func(ctx context.Context, in *iam.Policy) error {
		return api.Send(ctx, accounts.SetIamPolicy(name, &iam.SetIamPolicyRequest{Policy: in}))
	})
}

// OnSubnetwork returns a subnetwork of the region. The identity of one in a Shared VPC is
// "HOST-PROJECT/NAME".
func OnSubnetwork(c *mark.Cluster, identity string) Place {
	subnetworks, region := c.Clients.Compute.Subnetworks, c.Clients.Region
	project, name := c.Clients.SplitProject(identity)
	return placeOf(mark.KindSubnetwork, identity, func(ctx context.Context) (*compute.Policy, error) {
		return api.Do(ctx, subnetworks.GetIamPolicy(project, region, name).OptionsRequestedPolicyVersion(api.PolicyVersion))
	}, func(ctx context.Context, in *compute.Policy) error {
		return api.Send(ctx, subnetworks.SetIamPolicy(project, region, name, &compute.RegionSetPolicyRequest{Policy: in}))
	})
}

// placeAt returns the resource of a path.
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

// changePolicy reads a policy, changes it, and writes it with its etag. It repeats this if another
// process has written the policy in between, and writes nothing if the policy is unchanged.
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

// text returns a canonical text, which is equal for policies that grant the same roles.
func (p *policy) text() string {
	var out []string
	for _, b := range p.Bindings {
		for _, m := range b.Members {
			out = append(out, grantText(b.Role, b.Condition)+" "+m)
		}
	}
	return strings.Join(slices.Sorted(slices.Values(out)), "\n")
}

// grantText formats a role and its condition for drift.
func grantText(role string, c *Condition) string {
	if c == nil {
		return role
	}
	return role + " if " + c.Expression
}

// remove revokes roles of a member, including those of a deleted account of the same email.
func (p *policy) remove(member string, from func(policyBinding) bool) {
	for i, b := range p.Bindings {
		if from(b) {
			p.Bindings[i].Members = slices.DeleteFunc(slices.Clone(b.Members), func(m string) bool { return isSame(m, member) })
		}
	}
	p.Bindings = slices.DeleteFunc(p.Bindings, func(b policyBinding) bool { return len(b.Members) == 0 })
}

// add grants a role to a member.
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

// grantsOf returns the roles of a member that satisfy of. It excludes roles of a deleted account,
// because a new account of the same email does not have them.
func (p *policy) grantsOf(member string, of func(policyBinding) bool) []string {
	var out []string
	for _, b := range p.Bindings {
		if of(b) && slices.Contains(b.Members, member) {
			out = append(out, grantText(b.Role, b.Condition))
		}
	}
	return slices.Sorted(slices.Values(out))
}

// names reports whether a binding that satisfies of names a member, or a deleted account of its
// email.
func (p *policy) names(member string, of func(policyBinding) bool) bool {
	return slices.ContainsFunc(p.Bindings, func(b policyBinding) bool {
		return of(b) && slices.ContainsFunc(b.Members, func(m string) bool { return isSame(m, member) })
	})
}

// isSame reports whether an entry of a policy refers to a member, for removing it. The entry of a
// deleted account is "deleted:serviceAccount:E-MAIL?uid=NUMBER".
func isSame(entry, member string) bool {
	rest, deleted := strings.CutPrefix(entry, "deleted:")
	if deleted {
		rest, _, _ = strings.Cut(rest, "?uid=")
	}
	return rest == member
}

func memberOf(email string) string { return "serviceAccount:" + email }
