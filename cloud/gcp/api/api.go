// Package api lists exactly the calls of Google's that det-deploy makes. Which of them
// may change something, which permission each needs, and how a refusal reads is decided
// here once, so that callers never see one of Google's codes.
package api

import (
	"context"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Clients are the services of one project and region, as one caller. Their calls are
// functions: what is not listed here is not in the program.
type Clients struct {
	// Project is the ID of the project: "vision-lab".
	Project string
	// Region is the region that was chosen: "us-central1".
	Region string
	// Zone is the zone of that region that gcloud's active configuration chooses; empty
	// where it chooses none.
	Zone string

	Networks    Networks
	Subnetworks Subnetworks
	Firewalls   Firewalls
	Routers     Routers
	Addresses   Addresses
	Disks       Disks
	Snapshots   Snapshots
	Instances   Instances
	Machines    Machines
	Catalog     Catalog

	Buckets  Buckets
	Objects  Objects
	Accounts Accounts
	Roles    Roles
	Projects Projects
	Secrets  Secrets

	Logs    Logs
	Metrics Metrics

	Services    Services
	Constraints Constraints

	// Identity is who calls, as the credentials say it: an e-mail address. It is empty
	// where they do not.
	Identity func(ctx context.Context) (string, error)

	in func(project string) Clients
}

// In are the same clients for another project, such as the host of a shared VPC.
func (c Clients) In(project string) Clients { return c.in(project) }

// Calls is every call of Clients, by the name that Google's discovery documents have for
// it, with the permissions of Google's IAM reference. A test compares both lists.
func Calls() edge.Calls {
	return slices.Concat(operationCalls(), networkCalls(), diskCalls(), instanceCalls(), machineCalls(), catalogCalls(), storageCalls(), iamCalls(), projectCalls(), secretCalls(), serviceCalls(), logCalls())
}

// freeCall is a call that changes nothing and that everybody may make.
func freeCall(op string) edge.Call { return edge.Call{Op: op} }

// Table is what is known of Google's calls and codes.
func Table() edge.Table {
	return edge.Table{Calls: Calls(), Rules: errorRules(), FixDenied: fixPermission, FixCredentials: fixLogin}
}
