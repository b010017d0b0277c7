// Package policy defines the IAM policies for the user who installs a cluster, for its master and
// for its agents. Each is a document to display, paste or attach, restricted to one cluster as far
// as IAM allows.
package policy

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The tags used in conditions.
const (
	clusterTag = "det-deploy-cluster"
	poolTag    = "det-deploy-pool"
)

// SizeLimit is IAM's limit on a managed policy in characters, not counting whitespace.
const SizeLimit = 6144

// namespace is the CloudWatch namespace of the metrics.
const namespace = "Determined"

// Scope restricts policies to a cluster. Empty fields match anything: the zero value covers any
// cluster of any account, for users who install clusters whose IDs are not known yet.
type Scope struct {
	// Partition is "aws", "aws-cn" or "aws-us-gov". Empty means "aws".
	Partition string
	Account   string
	Region    string
	Cluster   string
	// DataBucket and LogGroup are existing resources. They are used but not changed.
	DataBucket string
	LogGroup   string
	// MasterRole and AgentRole are ARNs of existing roles.
	MasterRole string
	AgentRole  string
	// Volume is an existing data volume: "vol-0ab1".
	Volume string
	// Secrets are the names of existing secrets that the cluster's configuration refers to.
	Secrets []string
	// Keys are ARNs of customer managed KMS keys that encrypt volumes. The caller that launches an
	// instance with such a volume grants EC2 the use of the key.
	Keys []string
	// NoSessions omits the permissions for Session Manager, which gives access to machines without
	// SSH.
	NoSessions bool
}

// Partition returns the partition of a region. It returns "aws" for an empty region.
func Partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// Document is an IAM policy.
type Document struct {
	Version   string
	Statement []Statement
}

// Named is a policy with a name for attaching it.
type Named struct {
	Name     string   `json:"name"`
	Document Document `json:"document"`
}

// Statement is a statement of a policy. Condition maps operators to keys to values.
type Statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  []string
	Condition map[string]map[string][]string `json:",omitempty"`
}

// String returns the indented JSON of the policy. It is deterministic.
func (d Document) String() string {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		panic(err) // strings and lists of strings always marshal
	}
	return string(b) + "\n"
}

// Compact returns the JSON without whitespace, which would count against IAM's size limits.
func (d Document) Compact() string {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // strings and lists of strings always marshal
	}
	return string(b)
}

// Actions returns the unique actions that the policy allows.
func (d Document) Actions() []string {
	seen := make(map[string]bool)
	var out []string
	for _, s := range d.Statement {
		for _, a := range s.Action {
			if !seen[a] && s.Effect == "Allow" {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	return out
}

func newDocument(statements ...Statement) Document {
	return Document{Version: "2012-10-17", Statement: statements}
}

func allowActions(sid string, resources []string, actions ...string) Statement {
	return Statement{Sid: sid, Effect: "Allow", Action: actions, Resource: resources}
}

// denyActions returns a Deny statement, which overrides any Allow.
func denyActions(sid string, resources []string, actions ...string) Statement {
	return Statement{Sid: sid, Effect: "Deny", Action: actions, Resource: resources}
}

// withCondition adds a condition on one key.
func (s Statement) withCondition(operator, key string, values ...string) Statement {
	c := map[string]map[string][]string{}
	for op, keys := range s.Condition {
		c[op] = keys
	}
	keys := map[string][]string{key: values}
	for k, v := range c[operator] {
		keys[k] = v
	}
	c[operator] = keys
	s.Condition = c
	return s
}

// whenResourceTagged restricts a statement to objects with the cluster's tag.
func (s Scope) whenResourceTagged(st Statement) Statement {
	return st.withCondition(s.tagOperator(), "aws:ResourceTag/"+clusterTag, orDefault(s.Cluster, "?*"))
}

// whenRequestTagged restricts a statement to requests that set the cluster's tag.
func (s Scope) whenRequestTagged(st Statement) Statement {
	return st.withCondition(s.tagOperator(), "aws:RequestTag/"+clusterTag, orDefault(s.Cluster, "?*"))
}

func (s Scope) tagOperator() string {
	if s.Cluster == "" {
		return "StringLike"
	}
	return "StringEquals"
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// resourceARN returns an ARN of a service in the scope's region and account.
func (s Scope) resourceARN(service, path string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", orDefault(s.Partition, "aws"), service, orDefault(s.Region, "*"), orDefault(s.Account, "*"), path)
}

// ec2ARNs returns ARN patterns for EC2 object types. Images and snapshots may belong to any
// account.
func (s Scope) ec2ARNs(kinds ...string) []string {
	var out []string
	for _, k := range kinds {
		account := orDefault(s.Account, "*")
		if k == "image" || k == "snapshot" {
			account = "*"
		}
		out = append(out, fmt.Sprintf("arn:%s:ec2:%s:%s:%s/*", orDefault(s.Partition, "aws"), orDefault(s.Region, "*"), account, k))
	}
	return out
}

// iamARN returns the ARN pattern of the cluster's roles or profiles, which have no region.
func (s Scope) iamARN(kind string) string {
	return fmt.Sprintf("arn:%s:iam::%s:%s/det-deploy/%s/*", orDefault(s.Partition, "aws"), orDefault(s.Account, "*"), kind, orDefault(s.Cluster, "*"))
}

func (s Scope) bucketARN(name string) string {
	return "arn:" + orDefault(s.Partition, "aws") + ":s3:::" + name
}

func (s Scope) controlBucket() string {
	return "det-deploy-" + orDefault(s.Cluster, "*") + "-" + orDefault(s.Account, "*")
}

func (s Scope) dataBucket() string {
	return orDefault(s.DataBucket, "det-deploy-"+orDefault(s.Cluster, "*")+"-data-"+orDefault(s.Account, "*"))
}

// ownSecrets returns the ARN pattern of the cluster's secrets.
func (s Scope) ownSecrets() string {
	return s.resourceARN("secretsmanager", "secret:det-deploy/"+orDefault(s.Cluster, "*")+"/*")
}

// authorityKey returns the ARN pattern of the CA key that signs the masters' certificates.
func (s Scope) authorityKey() string {
	return s.resourceARN("secretsmanager", "secret:det-deploy/"+orDefault(s.Cluster, "*")+"/tls-ca-key-*")
}

func (s Scope) readableSecrets() []string {
	out := []string{s.ownSecrets()}
	for _, name := range s.Secrets {
		if strings.HasPrefix(name, "arn:") {
			out = append(out, name)
			continue
		}
		// Secrets Manager appends six random characters to the name.
		out = append(out, s.resourceARN("secretsmanager", "secret:"+name+"-??????"))
	}
	return out
}

// logGroup returns the ARNs of the group and its streams. Calls about tags use the plain ARN, all
// others the one with the suffix ":*".
func (s Scope) logGroup() []string {
	group := s.resourceARN("logs", "log-group:"+orDefault(s.LogGroup, "/det-deploy/"+orDefault(s.Cluster, "*")))
	return []string{group, group + ":*"}
}
