package cluster

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
)

type statusOptions struct {
	*term.Streams
	Selection

	Output term.Format
}

func statusHelp() Help {
	return Help{
		Short: "Show the status of a cluster on {on}",
		Example: `  det-deploy {name} status --cluster-id lab
  det-deploy {name} status --cluster-id lab --output json`,
	}
}

func newStatus(s *term.Streams, p Platform) *statusOptions {
	return &statusOptions{Streams: s, Selection: p.Select(s)}
}

func (o *statusOptions) addFlags(f *pflag.FlagSet) {
	o.AddFlags(Status, f)
	o.Output.AddFlag(f)
}

func (o *statusOptions) validate([]string) error { return o.Validate(Request{Verb: Status}) }

func (o *statusOptions) run(ctx context.Context) error {
	c, err := o.Open(ctx, Request{Verb: Status})
	if err != nil {
		return err
	}
	a, state, err := c.Inspect(ctx)
	if err != nil {
		return err
	}
	if err := printAnswer(o.Streams, o.Output, a); err != nil {
		return err
	}
	return exit.Unless(state == installer.Running)
}
