package cluster

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// upOptions is `up`, which Kubernetes calls install.
type upOptions struct {
	*term.Streams
	Selection
	Consent

	Output term.Format
}

func upHelp() Help {
	return Help{
		Short: "Create or update a cluster on {on}",
		Long: `Create a cluster on {on}, or bring one to what is asked for: up again changes what
differs, repairs what is broken, continues what was interrupted, and does nothing
else. What is left out keeps the value it had. On a terminal it asks for what
cannot be inferred; everything can be given by flags, DET_{NAME}_* variables, or a
cluster.yaml, which also has what has no flag, such as further pools.`,
	}
}

func newUp(s *term.Streams, p Platform) *upOptions {
	return &upOptions{Streams: s, Selection: p.Select(s)}
}

func (o *upOptions) addFlags(f *pflag.FlagSet) {
	o.AddFlags(Up, f)
	o.AddConsent(f)
	o.Output.AddFlag(f)
}

func (o *upOptions) validate([]string) error {
	if err := o.CheckConsent(); err != nil {
		return err
	}
	return o.Validate(Request{Verb: Up, Yes: o.Yes})
}

// foreground is a cluster that stays in this process when it is up.
type foreground interface {
	// Stay returns when the cluster has stopped; err is how bringing it up ended.
	Stay(err error) error
}

func (o *upOptions) run(ctx context.Context) error {
	ask := newPrompt(o.Streams, o.Output, o.Yes)
	c, err := o.Open(ctx, Request{Verb: Up, Yes: o.Yes, Sink: ask.eventSink()})
	if err != nil {
		return err
	}
	if err := c.Fits(ctx); err != nil {
		return err
	}
	report := c.Check(ctx)
	if err := ask.printChecks(report); err != nil {
		return err
	}
	p, err := c.Plan(ctx)
	if err != nil {
		return err
	}
	if err := c.Warn(ctx, Up); err != nil {
		return err
	}
	if o.DryRun {
		return ask.printPlan(p)
	}
	if agreed, err := ask.confirmUp(ctx, p); err != nil || !agreed {
		return err
	}
	if err := c.Up(ctx, p); err != nil {
		return err
	}
	err = o.finish(ctx, c)
	if f, ok := c.(foreground); ok {
		return f.Stay(err)
	}
	return err
}

// finish prints how to use the cluster.
func (o *upOptions) finish(ctx context.Context, c Cluster) error {
	a, err := c.Finish(ctx)
	if err != nil {
		return err
	}
	return printAnswer(o.Streams, o.Output, a)
}
