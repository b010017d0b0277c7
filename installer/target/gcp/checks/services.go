package checks

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

// checkAPIs checks whether the project has enabled the APIs that a cluster uses.
func (c *checker) checkAPIs(ctx context.Context) doctor.Result {
	needed := "the APIs " + strings.Join(facts.RequiredAPIs(), ", ")
	off, err := c.facts.DisabledAPIs(ctx, facts.RequiredAPIs())
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if len(off) > 0 {
		return doctor.Failed("not enabled: "+strings.Join(off, ", "), needed, facts.EnableCommand(c.Caller.Project, off))
	}
	return doctor.Passed("%d APIs are enabled", len(facts.RequiredAPIs()))
}
