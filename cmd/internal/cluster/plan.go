package cluster

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

type planOptions struct {
	*term.Streams
	Selection

	Output term.Format
}

func planHelp() Help {
	return Help{
		Short: "Show the plan of up for a cluster on {on}",
		Long: `Show what up with the same flags would create, change, replace and delete, each
with its reason. Nothing is asked, checked or changed.`,
	}
}

func newPlan(s *term.Streams, p Platform) *planOptions {
	return &planOptions{Streams: s, Selection: p.Select(s)}
}

func (o *planOptions) addFlags(f *pflag.FlagSet) {
	o.AddFlags(Plan, f)
	o.Output.AddFlag(f)
}

func (o *planOptions) validate([]string) error { return o.Validate(Request{Verb: Plan}) }

func (o *planOptions) run(ctx context.Context) error {
	c, err := o.Open(ctx, Request{Verb: Plan})
	if err != nil {
		return err
	}
	p, err := c.Plan(ctx)
	if err != nil {
		return err
	}
	if err := c.Warn(ctx, Plan); err != nil {
		return err
	}
	return prompt{Streams: o.Streams, Output: o.Output}.printPlan(p)
}
