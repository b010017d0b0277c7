package aws

import (
	"strings"

	"github.com/det-deploy/det-deploy/cloud/aws/policy"
)

// Scope limits policies to a cluster, a region, an account, and says what the
// cluster uses that was there before. What is empty is left open, or the cluster's
// own.
type Scope struct {
	Cluster, Region, Account     string
	MasterRole, AgentRole        string
	DataBucket, Volume, LogGroup string
	Secrets, Keys                []string
	// NoSessions leaves out what Session Manager needs.
	NoSessions bool
}

// Callers lists the names of the caller's documents.
func Callers() []string {
	var out []string
	for _, d := range policy.Caller(policy.Scope{}) {
		out = append(out, d.Name)
	}
	return out
}

// Policies is what has to be allowed to the caller, the master or an agent:
// several documents with names for the caller, because one would be too long, and
// one document for a machine or when it is asked for by its name.
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

// roleARN is the ARN of a role that is given by its name, with its path, or ARN.
func roleARN(partition, role, account string) string {
	if role == "" || strings.HasPrefix(role, "arn:") {
		return role
	}
	if account == "" {
		account = "*"
	}
	return "arn:" + partition + ":iam::" + account + ":role/" + strings.TrimPrefix(role, "/")
}
