package wire

import "github.com/det-deploy/det-deploy/cloud/aws/policy"

// AWSScope limits policies to a cluster, a region, an account; what is empty is
// left open.
type AWSScope struct{ Cluster, Region, Account string }

// AWSPolicies is what has to be allowed to the caller, the master or an agent:
// several documents with names for the caller, because one would be too long, and
// one document for a machine.
func AWSPolicies(who string, s AWSScope) any {
	scope := policy.Scope{Cluster: s.Cluster, Region: s.Region, Account: s.Account}
	switch who {
	case "master":
		return policy.Master(scope)
	case "agent":
		return policy.Agent(scope)
	default:
		return policy.Caller(scope)
	}
}
