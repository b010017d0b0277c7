package aws

import (
	"strings"

	"github.com/det-deploy/det-deploy/cloud/aws/policy"
)

// Scope limits policies to a cluster, region and account, and names the existing resources that the
// cluster uses. An empty field sets no limit or, for a resource, selects the one that det-deploy creates.
type Scope struct {
	Cluster, Region, Account     string
	MasterRole, AgentRole        string
	DataBucket, Volume, LogGroup string
	Secrets, Keys                []string
	// NoSessions omits the permissions for Session Manager.
	NoSessions bool
}

// Callers lists the names of the caller's policy documents.
func Callers() []string {
	var out []string
	for _, d := range policy.Caller(policy.Scope{}) {
		out = append(out, d.Name)
	}
	return out
}

// Policies returns the policies for the caller, the master or an agent. For the caller it returns several
// named documents, because a single one would exceed the size limit of IAM. For a machine or for the name
// of a document, it returns one document.
func Policies(who string, s Scope) any {
	partition := policy.Partition(s.Region)
	scope := policy.Scope{
		Partition: partition, NoSessions: s.NoSessions,
		Cluster: s.Cluster, Region: s.Region, Account: s.Account, DataBucket: s.DataBucket, Volume: s.Volume, LogGroup: s.LogGroup,
		MasterRole: roleARN(partition, s.MasterRole, s.Account), AgentRole: roleARN(partition, s.AgentRole, s.Account), Secrets: s.Secrets, Keys: s.Keys,
	}
	switch who {
	case "master":
		return policy.Master(scope)
	case "agent":
		return policy.Agent(scope)
	}
	for _, d := range policy.Caller(scope) {
		if d.Name == who {
			return d.Document
		}
	}
	return policy.Caller(scope)
}

// roleARN returns the ARN of a role that is given as an ARN or as a name, with or without a path.
func roleARN(partition, role, account string) string {
	if role == "" || strings.HasPrefix(role, "arn:") {
		return role
	}
	if account == "" {
		account = "*"
	}
	return "arn:" + partition + ":iam::" + account + ":role/" + strings.TrimPrefix(role, "/")
}
