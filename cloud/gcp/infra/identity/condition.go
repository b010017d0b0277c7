package identity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
)

// zonesPerCondition keeps an expression within Google's limit of twelve logical operators: two for
// the types, and two per zone.
const zonesPerCondition = 5

// NameConditions returns conditions that restrict a role to the instances and disks of a cluster,
// by their name prefix, and to all resources of other types. Because of the prefix, the conditions
// for lab also cover instances of lab-2. A role is granted with each of the conditions.
func NameConditions(c *mark.Cluster, zones []string) []*Condition {
	var out []*Condition
	for some := range slices.Chunk(slices.Sorted(slices.Values(zones)), zonesPerCondition) {
		terms := []string{`resource.type != "compute.googleapis.com/Instance" && resource.type != "compute.googleapis.com/Disk"`}
		for _, zone := range some {
			for _, collection := range []string{"instances", "disks"} {
				name := "projects/" + c.Clients.Project + "/zones/" + zone + "/" + collection + "/" + c.FullName("")
				terms = append(terms, `resource.name.startsWith("`+name+`-")`)
			}
		}
		out = append(out, conditionOf(c, terms))
	}
	return out
}

// conditionTitle returns the title of a cluster's conditions, which identifies them.
func conditionTitle(c *mark.Cluster) string { return "det-deploy cluster " + c.ID }

func conditionOf(c *mark.Cluster, terms []string) *Condition {
	return &Condition{Title: conditionTitle(c), Expression: strings.Join(terms, " || ")}
}

// termsPerCondition keeps an expression within Google's limit.
const termsPerCondition = 12

// DiskConditions returns conditions that restrict a role to some disks of the project:
// "us-central1-a/data".
func DiskConditions(c *mark.Cluster, disks []string) []*Condition {
	var out []*Condition
	for some := range slices.Chunk(slices.Sorted(slices.Values(disks)), termsPerCondition) {
		var terms []string
		for _, disk := range some {
			zone, name, _ := strings.Cut(disk, "/")
			terms = append(terms, `resource.name == "projects/`+c.Clients.Project+`/zones/`+zone+`/disks/`+name+`"`)
		}
		out = append(out, conditionOf(c, terms))
	}
	return out
}

// BucketCondition returns a condition that restricts a role to a bucket and its objects.
func BucketCondition(c *mark.Cluster, bucket string) *Condition {
	name := `"projects/_/buckets/` + bucket
	return conditionOf(c, []string{`resource.name == ` + name + `"`, `resource.name.startsWith(` + name + `/objects/")`})
}

// ObjectCondition returns a condition that restricts a role to the objects of a bucket with a name
// prefix.
func ObjectCondition(c *mark.Cluster, bucket, prefix string) *Condition {
	return conditionOf(c, []string{`resource.name.startsWith("projects/_/buckets/` + bucket + `/objects/` + prefix + `")`})
}

// SecretCondition returns a condition that restricts a role to a secret of the project. Conditions
// refer to the project by its number.
func SecretCondition(c *mark.Cluster, id string) *Condition {
	name := `"projects/` + strconv.FormatUint(c.Number, 10) + `/secrets/` + id
	return conditionOf(c, []string{`resource.name == ` + name + `"`, `resource.name.startsWith(` + name + `/versions/")`})
}

// GrantsIf returns a grant of the role for each condition.
func GrantsIf(role Granted, conditions []*Condition) []Grant {
	var out []Grant
	for _, c := range conditions {
		out = append(out, Grant{role, c})
	}
	return out
}
