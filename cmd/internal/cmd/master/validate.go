package master

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/verdict"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config"
)

func newValidate(s *term.Streams) *cobra.Command {
	return verdict.NewValidate(s, "a master", func(file string) (warnings []document.Problem, problems, notYet error) {
		l, err := config.LoadDocument([]string{file}, nil)
		if err != nil {
			return l.Warnings, err, nil
		}
		return l.Warnings, listUnfit(l), listUnbuilt(l)
	})
}
