// Package api opens the clients that Google generates for its services, for one project and
// region. Every request of theirs passes one transport, which asks the gate, gives changes
// their request ID, repeats what had no effect and translates refusals. Beside it are the
// table of calls and permissions, the errors inside operations, and the lists that can lack
// a zone.
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

// Clients are the services of one project and region, as one caller. Their calls are made by
// Do, List, Start and Run.
type Clients struct {
	// Project is the ID of the project: "vision-lab".
	Project string
	// Region is the region that was chosen: "us-central1".
	Region string
	// Zone is the zone of that region that gcloud's active configuration chooses; empty
	// where it chooses none.
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

// In returns the same clients for another project, such as the host of a shared VPC.
func (c Clients) In(project string) Clients {
	c.Project = project
	return c
}

// Identity returns the e-mail address of the caller, as the credentials have it. It is empty
// where they have none.
func (c Clients) Identity(ctx context.Context) (string, error) {
	if c.identity == nil {
		return "", nil
	}
	return c.identity(ctx)
}

// PolicyVersion is the version of policies that may have conditions. Google leaves
// conditions out of an older one, and they would be lost when it is written.
const PolicyVersion = 3

// ProjectPolicy reads who has which role in the project.
func (c Clients) ProjectPolicy(ctx context.Context) (*cloudresourcemanager.Policy, error) {
	in := &cloudresourcemanager.GetIamPolicyRequest{Options: &cloudresourcemanager.GetPolicyOptions{RequestedPolicyVersion: PolicyVersion}}
	return Do(ctx, c.Resources.Projects.GetIamPolicy(c.ProjectName(), in))
}

// ProjectName returns the full name of the project.
func (c Clients) ProjectName() string { return "projects/" + c.Project }

// AccountName returns the full name of a service account, by its e-mail address.
func (c Clients) AccountName(email string) string {
	return c.ProjectName() + "/serviceAccounts/" + email
}

// RoleName returns the full name of a custom role, by its ID.
func (c Clients) RoleName(id string) string { return c.ProjectName() + "/roles/" + id }

// SecretName returns the full name of a secret, by its ID, or that of a version, by an ID
// such as "db/versions/3".
func (c Clients) SecretName(id string) string { return c.ProjectName() + "/secrets/" + id }

// LogName returns the full name of a log, by its ID: "det-deploy-lab".
func LogName(project, id string) string { return "projects/" + project + "/logs/" + url.PathEscape(id) }

// SplitZone splits the identity of something in a zone: "us-central1-a/det-lab-master".
func SplitZone(identity string) (zone, name string) {
	zone, name, _ = strings.Cut(identity, "/")
	return zone, name
}

// SplitProject splits the identity of something that may be in another project:
// "HOST-PROJECT/NAME".
func (c Clients) SplitProject(identity string) (project, name string) {
	project, name, shared := strings.Cut(identity, "/")
	if !shared {
		return c.Project, identity
	}
	return project, name
}
