package agent

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/verdict"
)

func newValidate(s *term.Streams, run func(context.Context, *verdict.Options) error) *cobra.Command {
	return verdict.Command(&cobra.Command{
		Short: "Validate an agent.yaml",
		Long: `Validate an agent.yaml at once: what is wrong, what is
accepted but has no effect, and what is right but not built yet. Only the first
and the last keep an agent from starting.`,
		Example: "  det-deploy agent config validate /etc/determined/agent.yaml",
	}, s, run)
}

func runValidate(_ context.Context, o *verdict.Options) error {
	l, err := config.LoadDocument([]string{o.File}, nil)
	if err != nil {
		return o.Tell(err, nil, l.Warnings)
	}
	return o.Tell(nil, listUnbuilt(l), l.Warnings)
}
