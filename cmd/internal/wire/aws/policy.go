package aws

import (
	"fmt"
	"slices"
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
	all := policiesFor(who, s)
	if len(all) == 1 {
		return all[0].Document
	}
	return all
}

// PolicyFiles returns the same policies as the contents of files by name, each of which
// aws iam create-policy accepts. It returns an error for a policy that exceeds the size limit of IAM.
func PolicyFiles(who string, s Scope) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, d := range policiesFor(who, s) {
		if n := len(d.Document.Compact()); n > policy.SizeLimit {
			return nil, fmt.Errorf("policy %s: %d characters exceed IAM's limit of %d for a managed policy; give fewer existing resources, or attach it as an inline policy of a role", d.Name, n, policy.SizeLimit)
		}
		out[d.Name+".json"] = []byte(d.Document.String())
	}
	return out, nil
}

func policiesFor(who string, s Scope) []policy.Named {
	partition := policy.Partition(s.Region)
	scope := policy.Scope{
		Partition: partition, NoSessions: s.NoSessions,
		Cluster: s.Cluster, Region: s.Region, Account: s.Account, DataBucket: s.DataBucket, Volume: s.Volume, LogGroup: s.LogGroup,
		MasterRole: roleARN(partition, s.MasterRole, s.Account), AgentRole: roleARN(partition, s.AgentRole, s.Account), Secrets: s.Secrets, Keys: s.Keys,
	}
	if who != string(policy.ByMaster) && who != string(policy.ByAgent) {
		all := policy.Caller(scope)
		if i := slices.IndexFunc(all, func(d policy.Named) bool { return d.Name == who }); i >= 0 {
			return all[i : i+1]
		}
	}
	return policy.For(policy.Who(who), scope)
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
