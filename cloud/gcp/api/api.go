// Package api provides Google's generated service clients for one project and region. All their
// requests pass through one transport that checks the gate, adds request IDs to modifying calls,
// retries calls that had no effect, and converts errors. The package also holds the table of calls
// and permissions, extracts errors from operations, and detects incomplete aggregated lists.
package api

import (
	"context"
	"net/url"
	"strings"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/logging/v2"
	"google.golang.org/api/monitoring/v3"
	"google.golang.org/api/orgpolicy/v2"
	"google.golang.org/api/secretmanager/v1"
	"google.golang.org/api/serviceusage/v1"
	"google.golang.org/api/storage/v1"
)

// Clients holds the service clients of one project, region and caller. Calls are made through Do,
// List, Start and Run.
type Clients struct {
	// Project is the project ID: "vision-lab".
	Project string
	// Region is the region in use: "us-central1".
	Region string
	// Zone is the zone of the active gcloud configuration if it is in Region, otherwise empty.
	Zone string

	Compute    *compute.Service
	Storage    *storage.Service
	IAM        *iam.Service
	Resources  *cloudresourcemanager.Service
	Secrets    *secretmanager.Service
	Usage      *serviceusage.Service
	OrgPolicy  *orgpolicy.Service
	Logging    *logging.Service
	Monitoring *monitoring.Service

	identity func(context.Context) (string, error)
}

// In returns the same clients for another project, such as the host project of a Shared VPC.
func (c Clients) In(project string) Clients {
	c.Project = project
	return c
}

// Identity returns the email of the caller's credentials, or "" if they contain none.
func (c Clients) Identity(ctx context.Context) (string, error) {
	if c.identity == nil {
		return "", nil
	}
	return c.identity(ctx)
}

// PolicyVersion is the version of IAM policies with conditions. Google omits conditions from older
// versions, so that writing such a policy would delete them.
const PolicyVersion = 3

// ProjectPolicy returns the IAM policy of the project.
func (c Clients) ProjectPolicy(ctx context.Context) (*cloudresourcemanager.Policy, error) {
	in := &cloudresourcemanager.GetIamPolicyRequest{Options: &cloudresourcemanager.GetPolicyOptions{RequestedPolicyVersion: PolicyVersion}}
	return Do(ctx, c.Resources.Projects.GetIamPolicy(c.ProjectName(), in))
}

// ProjectName returns the resource name of the project.
func (c Clients) ProjectName() string { return "projects/" + c.Project }

// AccountName returns the resource name of a service account, given by its email.
func (c Clients) AccountName(email string) string {
	return c.ProjectName() + "/serviceAccounts/" + email
}

// RoleName returns the resource name of a custom role.
func (c Clients) RoleName(id string) string { return c.ProjectName() + "/roles/" + id }

// SecretName returns the resource name of a secret or, for an ID such as "db/versions/3", of a
// secret version.
func (c Clients) SecretName(id string) string { return c.ProjectName() + "/secrets/" + id }

// LogName returns the resource name of a log: its ID is "det-deploy-lab", for example.
func LogName(project, id string) string { return "projects/" + project + "/logs/" + url.PathEscape(id) }

// SplitZone splits the identity of a zonal resource: "us-central1-a/det-lab-master".
func SplitZone(identity string) (zone, name string) {
	zone, name, _ = strings.Cut(identity, "/")
	return zone, name
}

// SplitProject splits the identity of a resource that may be in another project:
// "HOST-PROJECT/NAME".
func (c Clients) SplitProject(identity string) (project, name string) {
	project, name, shared := strings.Cut(identity, "/")
	if !shared {
		return c.Project, identity
	}
	return project, name
}
