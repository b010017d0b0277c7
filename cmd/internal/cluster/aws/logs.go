package aws

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type logsOptions struct {
	*term.Streams
	Which

	// Part is what wrote: "master", "agent", "journal"; all when empty.
	Part     string
	Instance string
	Since    string
	Follow   bool
	Output   term.Format
}

func newLogs(s *term.Streams, run func(context.Context, *logsOptions) error) *cobra.Command {
	o := &logsOptions{Streams: s}
	c := &cobra.Command{
		Use:   "logs [master|agent|host|data|journal]",
		Short: "Show the logs of a cluster on AWS",
		Long: `Show the logs of a cluster on AWS, as their journals were carried to
CloudWatch: the master's log, the agents', what puts a machine in place (host), its
data volume, the rest of its journal, or everything, oldest first. Tasks have logs
of their own: det-deploy task logs.`,
		Example: `  det-deploy aws logs --cluster-id lab master --follow
  det-deploy aws logs --cluster-id lab agent --since 1h --instance i-0ab1c2`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Part = strings.Join(args, "")
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	o.addFlags(f)
	f.StringVar(&o.Instance, "instance", "", "show only this machine")
	f.StringVar(&o.Since, "since", "", "show lines since a duration such as 10m, or a time such as 2006-01-02T15:04:05Z (default 1h)")
	f.BoolVarP(&o.Follow, "follow", "f", false, "follow new lines until interrupted")
	o.Output.AddFlag(f)
	return c
}

func (o *logsOptions) validate() error {
	if _, ok := units()[o.Part]; !ok {
		return usage.Errorf("the log must be master, agent, host, data or journal (is %q)", o.Part)
	}
	if _, err := since(o.Since, time.Time{}); err != nil {
		return err
	}
	return o.Which.validate()
}

// units are the streams of a machine, by the word that a user types.
func units() map[string]string {
	return map[string]string{
		"": "", "master": "det-deploy-master", "agent": "det-deploy-agent", "host": "det-deploy-host",
		"data": "det-deploy-data", "journal": "journal",
	}
}

// since is an hour ago when nothing is said, for a cluster's log of months is long.
func since(text string, now time.Time) (time.Time, error) {
	return usage.Since(cmp.Or(text, "1h"), now)
}

// line is the JSON form of one line of a log; each stands on a line of its own.
type line struct {
	Schema string `json:"schema"`

	wire.AWSLogLine
}

func runLogs(ctx context.Context, o *logsOptions) error {
	a, err := wire.NewAWS(ctx, o.Streams, o.request(o.Streams))
	if err != nil {
		return err
	}
	if there, err := a.Exists(ctx); err != nil {
		return err
	} else if !there {
		return &absentError{o.Cluster, a.Region()}
	}
	from, err := since(o.Since, time.Now())
	if err != nil {
		return err
	}
	q := wire.AWSLogQuery{Instance: o.Instance, Since: from, Follow: o.Follow}
	q.Unit = units()[o.Part]
	return a.Logs(ctx, q, o.show)
}

func (o *logsOptions) show(l wire.AWSLogLine) {
	if o.Output == term.JSON {
		b, _ := json.Marshal(line{"det-deploy.aws-log/v1", l}) // strings and a time always can be
		o.Printf("%s", b)
		return
	}
	who := l.Instance
	if o.Part == "" {
		who = fmt.Sprintf("%s/%s", l.Instance, strings.TrimPrefix(l.Unit, "det-deploy-"))
	}
	o.Printf("%s %s | %s", l.Time.Format("2006-01-02T15:04:05Z"), who, l.Message)
}
