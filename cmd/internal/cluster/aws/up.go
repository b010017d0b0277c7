package aws

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
)

type upOptions struct {
	*term.Streams
	wanted

	DryRun   bool
	Yes      bool
	NoWait   bool
	NoVerify bool
	Output   term.Format
}

func newUp(s *term.Streams, run func(context.Context, *upOptions) error) *cobra.Command {
	o := &upOptions{Streams: s}
	c := &cobra.Command{
		Use:   "up",
		Short: "Create or update a cluster on AWS",
		Long: `Create a cluster on AWS, or bring one to what is asked for: up again changes what
differs, repairs what is broken, continues what was interrupted, and does nothing
else. What is left out keeps the value it had. On a terminal it asks for what
cannot be inferred; everything can be said by flags, DET_AWS_* variables, or a
cluster.yaml, which also has what has no flag, such as further pools.`,
		Example: `  det-deploy aws up --cluster-id lab
  det-deploy aws up --cluster-id lab --region us-west-2 --inbound-cidr 203.0.113.7/32 --instance-type g5.xlarge --yes
  det-deploy aws up --config-file cluster.yaml --dry-run`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := agree.Flags(o.DryRun, o.Yes); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	o.addFlags(f)
	f.BoolVar(&o.NoWait, "no-wait", false, "do not wait for the master")
	f.BoolVar(&o.NoVerify, "no-verify", false, "skip the test task")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the plan and stop")
	f.BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	o.Output.AddFlag(f)
	return c
}

func runUp(ctx context.Context, o *upOptions) error {
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	a, err := o.open(ctx, o.Streams, !o.Yes, wire.AWSRequest{NoWait: o.NoWait, NoVerify: o.NoVerify, Sink: ask.Tell()})
	if err != nil {
		return err
	}
	if u := a.Record.Upgrade; u != nil {
		return &installer.UnderWayError{Cluster: a.Cluster, To: u.To}
	}
	report := a.Check(ctx)
	if err := ask.Checks(report); err != nil {
		return err
	}
	p, err := a.Plan(ctx)
	if err != nil {
		return err
	}
	if o.DryRun {
		return ask.Plan(p)
	}
	if agreed, err := ask.Up(ctx, p); err != nil || !agreed {
		return err
	}
	if err := a.Up(ctx, p); err != nil {
		return err
	}
	return o.finish(ctx, a)
}

// upResult is the JSON form of the answer.
type upResult struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	Region  string `json:"region"`
	URL     string `json:"url"`
	User    string `json:"user"`
	// LoggedIn is false when the cluster was not waited for, or when the first
	// password was changed.
	LoggedIn bool `json:"logged_in"`
}

// finish remembers the cluster and says how to use it.
func (o *upOptions) finish(ctx context.Context, a *wire.AWS) error {
	r := upResult{Schema: "det-deploy.aws-up/v1", Cluster: a.Cluster, Region: a.Region(), User: "admin"}
	e, err := a.Target.Endpoint(ctx)
	if err != nil {
		return err
	}
	r.URL = e.URL
	ca, err := remember(ctx, o.Streams, a, !o.NoWait, &r)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	o.sayHow(r, ca)
	return nil
}

func (o *upOptions) sayHow(r upResult, ca string) {
	state := "is up at"
	if o.NoWait {
		state = "stands, and its master will answer at"
	}
	o.Printf("Cluster %s in %s %s %s.", r.Cluster, r.Region, state, r.URL)
	o.Printf("")
	o.Printf("  export DET_MASTER=%s", r.URL)
	o.Printf("  export DET_MASTER_CERT_FILE=%s", ca)
	o.Printf("")
	next := "task run -- echo hello"
	switch {
	case r.LoggedIn:
		o.Printf("You are logged in as %s; `det-deploy aws credentials --cluster-id %s` shows the password. Next:", r.User, r.Cluster)
	case o.NoWait:
		next = "aws status --cluster-id " + r.Cluster
		o.Printf("`det-deploy aws credentials --cluster-id %s` shows the password of %s. Next:", r.Cluster, r.User)
	default:
		next = "login " + r.User
		o.Printf("The password of %s was changed, so you are not logged in. Next:", r.User)
	}
	o.Printf("")
	o.Printf("  det-deploy %s", next)
}
