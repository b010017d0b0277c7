package identity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
)

// zonesPerCondition keeps an expression below the twelve operators that Google takes:
// two for the types, and two for each zone.
const zonesPerCondition = 5

// NameConditions have a role count for the machines and disks of a cluster alone, by how
// their names begin, and for everything that is neither. Names know no clusters: those of
// lab also cover machines of lab-2. A role is given under each of the conditions.
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

// conditionTitle tells the conditions of a cluster from those of others.
func conditionTitle(c *mark.Cluster) string { return "det-deploy cluster " + c.ID }

func conditionOf(c *mark.Cluster, terms []string) *Condition {
	return &Condition{Title: conditionTitle(c), Expression: strings.Join(terms, " || ")}
}

// termsPerCondition keeps an expression below Google's limit.
const termsPerCondition = 12

// DiskConditions have a role count for some disks of the project: "us-central1-a/data".
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

// BucketCondition has a role count for a bucket and its objects.
func BucketCondition(c *mark.Cluster, bucket string) *Condition {
	name := `"projects/_/buckets/` + bucket
	return conditionOf(c, []string{`resource.name == ` + name + `"`, `resource.name.startsWith(` + name + `/objects/")`})
}

// ObjectCondition has a role count for the objects of a bucket whose names begin with
// prefix.
func ObjectCondition(c *mark.Cluster, bucket, prefix string) *Condition {
	return conditionOf(c, []string{`resource.name.startsWith("projects/_/buckets/` + bucket + `/objects/` + prefix + `")`})
}

// SecretCondition has a role count for a secret of the project. Conditions know the
// project by its number.
func SecretCondition(c *mark.Cluster, id string) *Condition {
	name := `"projects/` + strconv.FormatUint(c.Number, 10) + `/secrets/` + id
	return conditionOf(c, []string{`resource.name == ` + name + `"`, `resource.name.startsWith(` + name + `/versions/")`})
}

// GrantsIf are a role under each of some conditions.
func GrantsIf(role Granted, conditions []*Condition) []Grant {
	var out []Grant
	for _, c := range conditions {
		out = append(out, Grant{role, c})
	}
	return out
}
