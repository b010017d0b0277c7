// Package identity manages the permissions of a cluster's instances: service accounts, custom roles
// of the project, and IAM policy bindings.
package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"google.golang.org/api/iam/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Account is a service account of a cluster's instances.
type Account struct {
	In *mark.Cluster
	// Name is the purpose: "master" or "agent".
	Name string

	infra.Learned
}

// accountLimit is the maximum number of characters in the ID of a service account.
const accountLimit = 30

// AccountID returns the ID of the service account of a cluster's master or agents. If the cluster
// ID is too long, it is truncated and a hash makes it unique.
func AccountID(cluster, name string) string {
	prefix := "det-" + name[:1] + "-"
	if len(prefix)+len(cluster) <= accountLimit {
		return prefix + cluster
	}
	sum := sha256.Sum256([]byte(cluster))
	return prefix + strings.TrimSuffix(cluster[:15], "-") + "-" + hex.EncodeToString(sum[:4])
}

// Email returns the email of the service account.
func (a *Account) Email() string {
	return AccountID(a.In.ID, a.Name) + "@" + a.In.Clients.Project + ".iam.gserviceaccount.com"
}

// ID returns the resource ID "gcp/service-account/NAME".
func (a *Account) ID() string { return mark.ResourceID(mark.KindAccount, a.Name) }

// Kind returns KindAccount.
func (*Account) Kind() string { return mark.KindAccount }

// Needs returns nil.
func (*Account) Needs() []string { return nil }

// Find finds the service account.
func (a *Account) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	live, err := readAccount(ctx, a.In, a.Email())
	if err != nil {
		return resource.Found{}, nil, infra.IgnoreMissing(err)
	}
	marks := mark.DescribedMarks(live.Description)
	if !isOwn(a.In, live) && (!a.In.Adopts || marks[mark.ClusterLabel] != "") {
		return resource.Found{}, nil, nil
	}
	a.Learn(live.Email)
	return foundAccount(a.In, live), append(infra.MarkDrift(marks, a.In.Owned()), infra.Differences(infra.Changeable("name", live.DisplayName, a.In.FullName(a.Name)))...), nil
}

// Update restores the display name and the mark.
func (a *Account) Update(ctx context.Context, _ []resource.Drift) error {
	in := &iam.PatchServiceAccountRequest{ServiceAccount: a.wantedAccount(), UpdateMask: "displayName,description"}
	return api.Send(ctx, a.In.Clients.IAM.Projects.ServiceAccounts.Patch(a.In.Clients.AccountName(a.Email()), in))
}

func (a *Account) wantedAccount() *iam.ServiceAccount {
	return &iam.ServiceAccount{DisplayName: a.In.FullName(a.Name), Description: a.In.Description(a.Name)}
}

// Create creates the service account and waits until it can be read. Some Google services do not know it for
// a while longer; calls to these are retried.
func (a *Account) Create(ctx context.Context) error {
	_, err := api.Do(ctx, a.In.Clients.IAM.Projects.ServiceAccounts.Create(a.In.Clients.ProjectName(), &iam.CreateServiceAccountRequest{
		AccountId: AccountID(a.In.ID, a.Name), ServiceAccount: a.wantedAccount(),
	}))
	if err == nil || cloud.KindOf(err) == cloud.Conflict {
		var live *iam.ServiceAccount
		err = a.In.Waiter().RetryUntilKnown(ctx, a.ID(), func() error {
			live, err = readAccount(ctx, a.In, a.Email())
			return err
		})
		if err == nil && !isOwn(a.In, live) {
			err = mark.Unmarked(a.In, "service account "+a.Email())
		}
	}
	if err == nil {
		a.Learn(a.Email())
	}
	return err
}

// Delete deletes the service account.
func (a *Account) Delete(ctx context.Context) error { return DeleteAccount(ctx, a.In, a.Email()) }

// DeleteAccount deletes a service account.
func DeleteAccount(ctx context.Context, c *mark.Cluster, email string) error {
	return infra.IgnoreMissing(api.Send(ctx, c.Clients.IAM.Projects.ServiceAccounts.Delete(c.Clients.AccountName(email))))
}

func isOwn(c *mark.Cluster, a *iam.ServiceAccount) bool {
	return mark.DescribedMarks(a.Description)[mark.ClusterLabel] == c.ID
}

func foundAccount(c *mark.Cluster, a *iam.ServiceAccount) resource.Found {
	return c.Found(mark.KindAccount, infra.Observed{Identity: path.Base(a.Email)})
}

// ListAccounts returns the service accounts of a cluster.
func ListAccounts(ctx context.Context, c *mark.Cluster) ([]resource.Found, error) {
	all, err := api.List(ctx, c.Clients.IAM.Projects.ServiceAccounts.List(c.Clients.ProjectName()), func(p *iam.ListServiceAccountsResponse) []*iam.ServiceAccount { return p.Accounts })
	var out []resource.Found
	for _, a := range all {
		if isOwn(c, a) {
			out = append(out, foundAccount(c, a))
		}
	}
	if err != nil {
		return nil, err
	}
	return mark.KeepPresent(out, func(f resource.Found) error {
		_, err := readAccount(ctx, c, f.ID)
		return err
	})
}
