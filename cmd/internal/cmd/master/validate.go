package master

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/verdict"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/helm"
)

func newValidate(s *term.Streams) *cobra.Command {
	var ofChart bool
	c := verdict.NewValidate(s, "a master", func(file string) (warnings []document.Problem, problems, notYet error) {
		if ofChart {
			return validateValues(file)
		}
		l, err := config.LoadDocument([]string{file}, nil)
		if err != nil {
			return l.Warnings, err, nil
		}
		return l.Warnings, listUnfit(l), listUnbuilt(l)
	})
	c.Flags().BoolVar(&ofChart, "chart-values", false, "FILE contains Helm values, as written by the chart")
	return c
}

func validateValues(file string) (warnings []document.Problem, problems, notYet error) {
	l, err := helm.Load(file, nil)
	if err != nil {
		return l.Warnings, err, nil
	}
	return l.Warnings, helm.Locate(l, wire.Refusals(l.Master)), nil
}
