package cluster

import (
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// upOptions holds the options of `up`, which is called install on Kubernetes.
type upOptions struct{ changing }

func upHelp() Help {
	return Help{
		Short: "Create or update a cluster on {on}",
		Long: `Create or update a cluster on {on}. Re-running is safe: it applies changes, repairs
drift and resumes an interrupted up. Settings that are not given are kept. On a
terminal, up asks for settings that it cannot infer. All settings can be given by
flags, DET_{NAME}_* variables or a cluster.yaml; some, such as further pools, only
by cluster.yaml.`,
	}
}

// foreground is a cluster that may run in this process.
type foreground interface {
	// Stay returns when the cluster has stopped; err is the error of up.
	Stay(err error) error
}

func (o *upOptions) run(ctx context.Context) error {
	ask, c, err := o.open(ctx)
	if err != nil {
		return err
	}
	if err := c.Fits(ctx); err != nil {
		return err
	}
	o.noteMemory(c)
	report, p, err := c.Survey(ctx)
	if failed := ask.printChecks(report); failed != nil {
		return failed
	}
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

// finish prints the instructions for using the cluster.
func (o *upOptions) finish(ctx context.Context, c Cluster) error {
	before, err := loadContexts(o.Streams)
	if err != nil {
		return err
	}
	a, err := c.Finish(ctx)
	if err != nil {
		return err
	}
	if err := printAnswer(o.Streams, o.Output, a); err != nil || o.Output == term.JSON {
		return err
	}
	now, err := loadContexts(o.Streams)
	if err != nil {
		return err
	}
	noteSwitch(o.Streams, before.Current, now)
	return nil
}

type planOptions struct{ selected }

func planHelp() Help {
	return Help{
		Short: "Show the plan of up for a cluster on {on}",
		Long: `Show what up with the same flags would create, change, replace and delete, with
reasons. Nothing is changed, and nothing is checked but rules of others that override
the cluster's.`,
	}
}

func (o *planOptions) run(ctx context.Context) error {
	c, err := o.Open(ctx, Request{Verb: o.verb})
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
