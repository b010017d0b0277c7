package gcp

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	gcpwire "github.com/det-deploy/det-deploy/cmd/internal/wire/gcp"
)

// pageAPIs is the key of the page for APIs that the answered project has not enabled. Its answer is not a
// setting.
const pageAPIs = "apis"

// askAPIs asks for consent to enable the APIs that a cluster uses, and enables them. For a project given
// by flag or file, Prepare has already done so.
func (f *form) askAPIs(ctx context.Context, a term.Answers) (*term.Field, error) {
	project, answered := a.Get(pageProject)
	if !answered || f.DryRun {
		return nil, nil
	}
	q := f.p.newRequest(f.Describe(a))
	q.Project = project
	question, enable, err := gcpwire.Prepare(ctx, q)
	if err != nil || question == "" {
		return nil, err
	}
	return &term.Field{
		Label: "Enable APIs", Help: question, Flag: "--yes", Default: "yes", Choices: []term.Choice{{Value: "yes", About: "enable them now"}},
		Check: func(ctx context.Context, answer string) error {
			if answer != "yes" {
				return errors.New("the cluster requires these APIs: answer yes, or quit with Ctrl-C")
			}
			return enable(ctx)
		},
	}, nil
}
