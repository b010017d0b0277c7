package master

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/verdict"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config"
)

func newValidate(s *term.Streams) *cobra.Command {
	return verdict.NewValidate(s, "a master", func(file string) (error, error, []document.Problem) {
		l, err := config.LoadDocument([]string{file}, nil)
		if err != nil {
			return err, nil, l.Warnings
		}
		return listUnfit(l), listUnbuilt(l), l.Warnings
	})
}
