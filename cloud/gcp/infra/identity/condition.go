package identity

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/owner"
)

// zonesPerCondition keeps an expression below the twelve operators that Google takes:
// two for the types, and two for each zone.
const zonesPerCondition = 5

// NameConditions have a role count for the machines and disks of a cluster alone, by how
// their names begin, and for everything that is neither. Names know no clusters: those of
// lab also cover machines of lab-2. A role is given under each of the conditions.
func NameConditions(c *owner.Cluster, zones []string) []*Condition {
	var out []*Condition
	for some := range slices.Chunk(slices.Sorted(slices.Values(zones)), zonesPerCondition) {
		terms := []string{`resource.type != "compute.googleapis.com/Instance" && resource.type != "compute.googleapis.com/Disk"`}
		for _, zone := range some {
			for _, collection := range []string{"instances", "disks"} {
				name := "projects/" + c.Clients.Project + "/zones/" + zone + "/" + collection + "/" + c.FullName("")
				terms = append(terms, `resource.name.startsWith("`+name+`-")`)
			}
		}
		out = append(out, &Condition{Title: "det-deploy cluster " + c.ID, Expression: strings.Join(terms, " || ")})
	}
	return out
}

// GrantsIf are a role under each of some conditions.
func GrantsIf(role Granted, conditions []*Condition) []Grant {
	var out []Grant
	for _, c := range conditions {
		out = append(out, Grant{role, c})
	}
	return out
}
