// Package api lists exactly the calls of Google's that det-deploy makes. Which of them
// may change something, which permission each needs, and how a refusal reads is decided
// here once, so that callers never see one of Google's codes.
package api

import (
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

	Networks    Networks
	Subnetworks Subnetworks
	Firewalls   Firewalls
	Routers     Routers
	Addresses   Addresses
	Disks       Disks
	Snapshots   Snapshots
	Instances   Instances
	Machines    Machines

	Buckets  Buckets
	Objects  Objects
	Accounts Accounts
	Roles    Roles
	Projects Projects
	Secrets  Secrets
}

// Calls is every call of Clients, by the name that Google's discovery documents have for
// it, with the permissions of Google's IAM reference. A test compares both lists.
func Calls() edge.Calls {
	return slices.Concat(operationCalls(), networkCalls(), diskCalls(), instanceCalls(), machineCalls(), storageCalls(), iamCalls(), projectCalls(), secretCalls())
}

// Table is what is known of Google's calls and codes.
func Table() edge.Table {
	return edge.Table{Calls: Calls(), Rules: errorRules(), FixDenied: fixPermission, FixCredentials: fixLogin}
}
