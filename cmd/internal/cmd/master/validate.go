package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/verdict"
	"github.com/det-deploy/det-deploy/master/config"
)

func newValidate(s *term.Streams, run func(context.Context, *verdict.Options) error) *cobra.Command {
	return verdict.Command(&cobra.Command{
		Short: "Validate a master.yaml",
		Long: `Validate a master.yaml at once: what is wrong, what is
accepted but has no effect, and what is right but not built yet. Only the first
and the last keep a master from starting.`,
		Example: "  det-deploy master config validate /etc/determined/master.yaml",
	}, s, run)
}

func runValidate(_ context.Context, o *verdict.Options) error {
	l, err := config.LoadDocument([]string{o.File}, nil)
	if err != nil {
		return o.Tell(err, nil, l.Warnings)
	}
	return o.Tell(listUnfit(l), listUnbuilt(l), l.Warnings)
}
