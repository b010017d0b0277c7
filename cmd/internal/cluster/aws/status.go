package aws

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/aws"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// StatusOptions is what `aws status` is asked.
type StatusOptions struct {
	*term.Streams
	Which

	Output term.Format
}

func newStatus(s *term.Streams, run func(context.Context, *StatusOptions) error) *cobra.Command {
	o := &StatusOptions{Streams: s}
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the status of a cluster on AWS",
		Example: `  det-deploy aws status --cluster-id lab
  det-deploy aws status --cluster-id lab --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

// statusResult is the JSON form of the answer.
type statusResult struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	Region  string `json:"region"`
	URL     string `json:"url"`
	Version string `json:"version"`
	// State is running, degraded when something is not as it should be, or absent
	// when only what was kept is there.
	State installer.State `json:"state"`
	// Upgrade is one under way, or null.
	Upgrade *record.Upgrade `json:"upgrade"`
	// Wrong lists what is not as it should be, a sentence each.
	Wrong []string `json:"wrong"`
	// Resources is how many resources the cluster has.
	Resources int `json:"resources"`
	// Try is what to do about what is wrong.
	Try string `json:"try,omitempty"`
}

// RunStatus shows how a cluster is.
func RunStatus(ctx context.Context, o *StatusOptions) error {
	a, err := wire.NewAWS(ctx, o.Streams, o.request(o.Streams))
	if err != nil {
		return err
	}
	if there, err := a.Exists(ctx); err != nil {
		return err
	} else if !there {
		return &absentError{o.Cluster, a.Region()}
	}
	r, err := o.look(ctx, a)
	if err != nil {
		return err
	}
	if err := o.print(r); err != nil {
		return err
	}
	return exit.Unless(r.State == installer.Running)
}

func (o *StatusOptions) look(ctx context.Context, a *wire.AWS) (statusResult, error) {
	r := statusResult{
		Schema: "det-deploy.aws-status/v1", Cluster: o.Cluster, Region: a.Region(),
		Version: a.Record.Release.Version, Upgrade: a.Record.Upgrade, Wrong: []string{},
	}
	state, p, err := a.Status(ctx)
	if err != nil {
		return r, err
	}
	r.State = state
	for _, s := range p.Steps {
		if s.Found.Exists() {
			r.Resources++
		}
	}
	switch {
	case !a.Known && state == installer.Absent:
		r.Try = "What was kept is found again by `det-deploy aws up --cluster-id " + o.Cluster + "`, and removed by `det-deploy aws down --cluster-id " + o.Cluster + " --delete-data`."
	case !a.Known:
		r.wrong("the record is lost, so it is not known what the cluster should be", "`det-deploy aws adopt --cluster-id "+o.Cluster+"` reads its settings back.")
	case a.Unread != nil:
		r.wrong("the record cannot be read: "+a.Unread.Error(),
			"Use det-deploy "+r.Version+", which wrote it, or correct what is wrong in it with `det-deploy aws up --cluster-id "+o.Cluster+"`.")
	default:
		r.differs(p)
	}
	err = r.ask(ctx, a.Target, masterOf(p))
	return r, err
}

// wrong notes something that is not as it should be. What to do about the first
// such thing is what there is to do.
func (r *statusResult) wrong(text, try string) {
	r.Wrong = append(r.Wrong, text)
	if r.Try == "" {
		r.Try = try
	}
	if r.State == installer.Running {
		r.State = installer.Degraded
	}
}

// differs notes what up would close, or would refuse to.
func (r *statusResult) differs(p plan.Plan) {
	for _, s := range p.Steps {
		if !s.Verb.Changes() && s.Verb != plan.Refuse {
			continue
		}
		text := s.ID + " " + s.Reason
		for _, d := range s.Diff {
			text += "; " + d.Path + ": " + d.Have
		}
		r.wrong(text, "`det-deploy aws up --cluster-id "+r.Cluster+"` brings it to what it should be.")
	}
}

// masterOf is the id of the master's machine, or "" while there is none.
func masterOf(p plan.Plan) string {
	for _, s := range p.Steps {
		if s.Found.Kind == "instance" && s.Found.Name == "master" {
			return s.Found.ID
		}
	}
	return ""
}

// logs says where to look what the machine does. Before it has sent any logs only
// its console tells.
func (r *statusResult) logs(machine string) string {
	text := "`det-deploy aws logs --cluster-id " + r.Cluster + "` shows what it does"
	if machine != "" {
		text += "; while it boots, `aws ec2 get-console-output --latest --output text --region " + r.Region + " --instance-id " + machine + "` does"
	}
	return text + "."
}

// ask asks the master's machine, by what it wrote into the control bucket, and the
// master itself.
func (r *statusResult) ask(ctx context.Context, t *aws.Target, machine string) error {
	e, err := t.Endpoint(ctx)
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	r.URL = e.URL
	problem, err := t.Problem(ctx)
	if err != nil {
		return err
	}
	if problem != "" {
		r.wrong(problem, r.logs(machine))
	}
	if err := answers(ctx, client.Config{URL: e.URL, CA: e.CA, ServerName: e.Name, RetryFor: -1}); err != nil {
		r.wrong("the master does not answer from here: "+err.Error(),
			"The master's machine says that it is well: let this machine in with --inbound-cidr, or ask from one that is.")
	}
	return nil
}

// answerLimit is how long a master may take to say who it is.
const answerLimit = 5 * time.Second

func answers(ctx context.Context, c client.Config) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	master, err := client.New(c)
	if err != nil {
		return err
	}
	defer master.Close()
	_, err = master.Master(ctx)
	return err
}

func (o *StatusOptions) print(r statusResult) error {
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	at := ""
	if r.URL != "" {
		at = " at " + r.URL
	}
	o.Printf("Cluster %s in %s is %s%s.", r.Cluster, r.Region, r.State, at)
	if r.Version != "" {
		o.Printf("It runs det-deploy %s and consists of %d resources.", r.Version, r.Resources)
	}
	if r.Upgrade != nil {
		o.Printf("An upgrade to %s is under way; `det-deploy aws upgrade --cluster-id %s` continues it.", r.Upgrade.To, r.Cluster)
	}
	for _, w := range r.Wrong {
		o.Printf("  %s", w)
	}
	if r.Try != "" {
		o.Notef("%s", r.Try)
	}
	return nil
}
