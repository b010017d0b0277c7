package machines

import (
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

// Demand is the demand of a cluster on a quota: Least for the master and one machine per pool, Most
// for everything that its pools may launch.
type Demand struct{ Least, Most int }

// Add returns d plus a number of machines of so many units each.
func (d Demand) Add(units, least, most int) Demand {
	return Demand{d.Least + units*least, d.Most + units*most}
}

// Quotas compares the demands of a cluster with the remaining quotas of an account.
type Quotas struct {
	short, tight, enough, unknown []string
	fix                           string
}

// Unknown adds a quota that could not be read.
func (q *Quotas) Unknown(err error) { q.unknown = append(q.unknown, err.Error()) }

// Weigh compares a demand with the remainder of a quota, which can be raised at console.
func (q *Quotas) Weigh(what string, d Demand, free int, console string) {
	found := fmt.Sprintf("%s: %d left, %d needed", what, max(free, 0), d.Most)
	switch {
	case free >= d.Most:
		q.enough = append(q.enough, found)
		return
	case free >= d.Least:
		q.tight = append(q.tight, found+" with all machines")
	default:
		q.short = append(q.short, found)
	}
	if q.fix == "" {
		q.fix = "request an increase at " + console + ", or choose fewer or smaller machines"
	}
}

// Result returns the result of all comparisons.
func (q *Quotas) Result() doctor.Result {
	const needed = "quotas for the master and the maximum size of the pools"
	switch {
	case len(q.short) > 0:
		return doctor.Failed(strings.Join(q.short, "; "), needed, q.fix).As(cloud.Quota)
	case len(q.tight)+len(q.unknown) > 0:
		return doctor.Unsure(strings.Join(append(q.tight, q.unknown...), "; "), needed, q.fix)
	}
	return doctor.Passed("%s", strings.Join(q.enough, "; "))
}
