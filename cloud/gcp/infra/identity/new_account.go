package identity

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/api/iam/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// readAccount returns a service account.
func readAccount(ctx context.Context, c *mark.Cluster, email string) (live *iam.ServiceAccount, err error) {
	err = retryWhileNew(ctx, c, email, "iam.serviceAccounts.get", func() error {
		live, err = api.Do(ctx, c.Clients.IAM.Projects.ServiceAccounts.Get(c.Clients.AccountName(email)))
		return err
	})
	return live, err
}

// retryWhileNew repeats a call on one of the cluster's service accounts while Google denies it because the
// account is new. That is the case if the caller has the permission in the project.
// https://cloud.google.com/iam/docs/overview#consistency
func retryWhileNew(ctx context.Context, c *mark.Cluster, email, permission string, call func() error) error {
	err := call()
	if !api.LacksPermission(err) || !isClusterAccount(c, email) {
		return err
	}
	missing, testErr := facts.Facts{Clients: c.Clients}.MissingInProject(ctx, []string{permission})
	if testErr != nil || len(missing) > 0 {
		return err
	}
	return c.Waiter().RetryOn(ctx, "service account "+email, infra.ToAppear, cloud.Denied, call)
}

// isClusterAccount reports whether an email is that of one of the cluster's own service accounts.
func isClusterAccount(c *mark.Cluster, email string) bool {
	id, _, _ := strings.Cut(email, "@")
	return slices.Contains([]string{AccountID(c.ID, "master"), AccountID(c.ID, "agent")}, id)
}
