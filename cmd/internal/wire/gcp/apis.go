package gcp

import (
	"context"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
)

// Prepare checks whether the project has enabled the APIs that a cluster uses. If not, question asks for
// consent and apply enables them, together with those that only checks use. Errors are left to the checks.
func Prepare(ctx context.Context, q Request) (question string, apply func(context.Context) error, err error) {
	if q.Project, err = ProjectOf(ctx, q); err != nil || q.Project == "" {
		return "", nil, err // the form asks for the project, and the checks then cover its APIs
	}
	c, err := q.openClients(ctx, api.Options{AnyRegion: true, Log: q.Log})
	if err != nil {
		return "", nil, err
	}
	f := facts.Facts{Clients: c}
	off, err := f.DisabledAPIs(ctx, slices.Concat(facts.RequiredAPIs(), facts.HelpfulAPIs()))
	if err != nil || !slices.ContainsFunc(off, func(name string) bool { return slices.Contains(facts.RequiredAPIs(), name) }) {
		return "", nil, nil //nolint:nilerr // the checks report the error
	}
	question = "Project " + c.Project + " has not enabled " + strings.Join(off, ", ") + ". Enable them?"
	return question, func(ctx context.Context) error { return f.EnableAPIs(ctx, off) }, nil
}
