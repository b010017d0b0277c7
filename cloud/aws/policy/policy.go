// Package policy says what must be allowed on AWS: to the person who installs a
// cluster, to its master and to its agents. Each is a document to be read, pasted
// or attached; whatever can be limited to one cluster is.
package policy

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The tags that documents go by.
const (
	clusterTag = "det-deploy-cluster"
	poolTag    = "det-deploy-pool"
)

// namespace is where machines put their metrics.
const namespace = "Determined"

// Scope is which cluster, where. Whatever is empty is left open in the documents:
// the zero value is any cluster of any account, as someone needs it who installs
// clusters and does not know their ids yet.
type Scope struct {
	// Partition is "aws", "aws-cn" or "aws-us-gov"; "aws" when empty.
	Partition string
	Account   string
	Region    string
	Cluster   string
	// DataBucket and LogGroup are names of those that were there before. What is
	// not the cluster's own is used and not changed.
	DataBucket string
	LogGroup   string
	// MasterRole and AgentRole are ARNs of roles that were there before.
	MasterRole string
	AgentRole  string
	// Volume is a data volume that was there before: "vol-0ab1".
	Volume string
	// Secrets are names of secrets that are not the cluster's own and that its
	// configuration refers to.
	Secrets []string
	// Keys are ARNs of KMS keys of the user's that disks are encrypted with. The
	// caller that launches a machine with such a disk grants EC2 the use of the key.
	Keys []string
	// NoSessions leaves out what Session Manager needs, which is the way into
	// machines without SSH.
	NoSessions bool
}

// Partition is that of a region, "aws" for none.
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

// Named is a document with the name under which it may be attached.
type Named struct {
	Name     string   `json:"name"`
	Document Document `json:"document"`
}

// Statement is one part of a document. Conditions are operator, key, values.
type Statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  []string
	Condition map[string]map[string][]string `json:",omitempty"`
}

// String is the document as people read it. The same document is always the same
// text.
func (d Document) String() string {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		panic(err) // strings and lists of strings always marshal
	}
	return string(b) + "\n"
}

// Compact is the document without white space, which counts against the sizes
// that IAM allows.
func (d Document) Compact() string {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // strings and lists of strings always marshal
	}
	return string(b)
}

// Actions lists what the document allows, each once.
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

// denyActions wins over whatever else allows the same.
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

// whenResourceTagged limits a statement to objects that carry the cluster's tag.
func (s Scope) whenResourceTagged(st Statement) Statement {
	return st.withCondition(s.tagOperator(), "aws:ResourceTag/"+clusterTag, orDefault(s.Cluster, "?*"))
}

// whenRequestTagged limits a statement to objects that get the cluster's tag when they are created.
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

// resourceARN is an ARN of a service in the scope's region and account.
func (s Scope) resourceARN(service, path string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", orDefault(s.Partition, "aws"), service, orDefault(s.Region, "*"), orDefault(s.Account, "*"), path)
}

// ec2ARNs are objects by their types: images and snapshots may belong to any account.
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

// iamARN is the cluster's roles or profiles; they have no region.
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

// ownSecrets are the cluster's, and those of others that it may read.
func (s Scope) ownSecrets() string {
	return s.resourceARN("secretsmanager", "secret:det-deploy/"+orDefault(s.Cluster, "*")+"/*")
}

// authorityKey is the secret that signs the masters' certificates.
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
		// Secrets Manager adds six characters of its own to a name.
		out = append(out, s.resourceARN("secretsmanager", "secret:"+name+"-??????"))
	}
	return out
}

// logGroup is the group and its streams. Calls about tags know a group by its
// plain ARN, all others by the one that ends in a star.
func (s Scope) logGroup() []string {
	group := s.resourceARN("logs", "log-group:"+orDefault(s.LogGroup, "/det-deploy/"+orDefault(s.Cluster, "*")))
	return []string{group, group + ":*"}
}
