package local

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
	target "github.com/det-deploy/det-deploy/installer/target/local"
)

type statusOptions struct {
	*term.Streams
	which

	Output term.Format
}

func newStatus(s *term.Streams, run func(context.Context, *statusOptions) error) *cobra.Command {
	o := &statusOptions{Streams: s}
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the status of a cluster on this machine",
		Example: `  det-deploy local status
  det-deploy local status --output json`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	o.addFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

// statusResult is the JSON form of the answer.
type statusResult struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	URL     string `json:"url"`
	// State is running, degraded when something is not as it should be, or
	// absent when only its data is there.
	State installer.State `json:"state"`
	// Wrong lists what is not as it should be, a sentence each.
	Wrong     []string         `json:"wrong"`
	Processes []target.Process `json:"processes"`
}

func runStatus(ctx context.Context, o *statusOptions) error {
	l, err := wire.NewLocal(ctx, o.Streams, o.Cluster, nil, nil)
	if err != nil {
		return err
	}
	if !l.Known && !l.Recovered {
		return &absentError{o.Cluster}
	}
	state, p, err := l.Status(ctx)
	if err != nil {
		return err
	}
	r := statusResult{Schema: "det-deploy.local-status/v1", Cluster: o.Cluster, URL: l.Target.Spec.URL(), State: state, Wrong: []string{}}
	for _, s := range p.Steps {
		if s.Verb.Changes() {
			text := s.ID + " " + s.Reason
			for _, d := range s.Diff {
				text += "; " + d.Path + ": " + d.Have
			}
			r.Wrong = append(r.Wrong, text)
		}
	}
	if r.Processes, err = l.Target.Processes(); err != nil {
		return err
	}
	if err := o.print(r); err != nil {
		return err
	}
	return exit.Unless(r.State == installer.Running)
}

func (o *statusOptions) print(r statusResult) error {
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	o.Printf("Cluster %s is %s at %s.", r.Cluster, r.State, r.URL)
	for _, w := range r.Wrong {
		o.Printf("  %s", w)
	}
	t := term.NewTable("process", "pid", "running for", "restarts")
	for _, p := range r.Processes {
		since := "not running"
		if p.Alive {
			since = time.Since(p.Since).Round(time.Second).String()
		}
		t.Row(p.Name, p.PID, since, p.Restarts)
	}
	if err := o.PrintTable(t); err != nil {
		return err
	}
	if len(r.Wrong) > 0 {
		o.Notef("`det-deploy local up%s` brings it to what it should be.", o.flag())
	}
	return nil
}
