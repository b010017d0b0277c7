package agent

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/verdict"
	"github.com/det-deploy/det-deploy/internal/document"
)

func newValidate(s *term.Streams) *cobra.Command {
	return verdict.NewValidate(s, "an agent", func(file string) (warnings []document.Problem, problems, notYet error) {
		l, err := config.LoadDocument([]string{file}, nil)
		if err != nil {
			return l.Warnings, err, nil
		}
		return l.Warnings, nil, listUnbuilt(l)
	})
}
