package k8s

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
)

type logsOptions struct {
	*term.Streams
	Which

	Database bool
	Follow   bool
	Previous bool
	Tail     int
	Since    string
	Output   term.Format
}

func newLogs(s *term.Streams, run func(context.Context, *logsOptions) error) *cobra.Command {
	o := &logsOptions{Streams: s}
	c := &cobra.Command{
		Use:   "logs",
		Short: "Show the master's logs of a cluster on Kubernetes",
		Long: `Show the master's logs of a cluster on Kubernetes, or its database, read from
their pods: also when the master does not answer. The log of a task is in
det-deploy task logs.`,
		Example: `  det-deploy k8s logs --cluster-id lab --follow
  det-deploy k8s logs --cluster-id lab --database --since 10m`,
		Args: usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	o.addFlags(f)
	f.BoolVar(&o.Database, "database", false, "show the database's log instead")
	f.BoolVarP(&o.Follow, "follow", "f", false, "follow new lines until interrupted")
	f.BoolVar(&o.Previous, "previous", false, "show the log before the last restart")
	f.IntVar(&o.Tail, "tail", 0, "number of last lines to show (default all)")
	f.StringVar(&o.Since, "since", "", "show lines since a duration such as 10m, or a time such as 2006-01-02T15:04:05Z")
	o.Output.AddFlag(f)
	return c
}

func (o *logsOptions) validate() error {
	switch {
	case o.Tail < 0:
		return usage.Errorf("--tail: must be 0 or more (is %d)", o.Tail)
	case o.Previous && o.Follow:
		return usage.Errorf("--previous and --follow exclude each other: a container that has ended writes no more")
	}
	if _, err := usage.Since(o.Since, time.Now()); err != nil {
		return err
	}
	return o.Which.validate()
}

// line is the JSON form of one line; each stands on a line of its own.
type line struct {
	Schema string `json:"schema"`

	target.LogLine
}

func runLogs(ctx context.Context, o *logsOptions) error {
	k, err := o.open(ctx, o.Streams)
	if err != nil {
		return err
	}
	q := target.LogQuery{Component: "master", Tail: int64(o.Tail), Previous: o.Previous, Follow: o.Follow}
	if o.Database {
		q.Component = "database"
	}
	if q.Since, err = usage.Since(o.Since, time.Now()); err != nil {
		return err
	}
	return k.Target.Logs(ctx, q, o.show)
}

func (o *logsOptions) show(l target.LogLine) {
	if o.Output == term.JSON {
		b, _ := json.Marshal(line{"det-deploy.k8s-log/v1", l}) // texts and a time always can be
		o.Printf("%s", b)
		return
	}
	o.Printf("%s", l.Text)
}
