package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

// checkAPIs checks whether the project has enabled the APIs that a cluster and the checks use.
func (c *checker) checkAPIs(ctx context.Context) doctor.Result {
	needed := "the APIs " + strings.Join(facts.RequiredAPIs(), ", ")
	all := slices.Concat(facts.RequiredAPIs(), facts.HelpfulAPIs())
	off, err := c.facts.DisabledAPIs(ctx, all)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	found, fix := "not enabled: "+strings.Join(off, ", "), facts.EnableCommand(c.Caller.Project, off)
	switch {
	case slices.ContainsFunc(off, func(name string) bool { return slices.Contains(facts.RequiredAPIs(), name) }):
		return doctor.Failed(found, needed, fix)
	case len(off) > 0:
		return doctor.Unsure(found+"; some checks cannot be made", needed, fix)
	}
	return doctor.Passed("%d APIs are enabled", len(all))
}
