package task

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type logsOptions struct {
	command.Remote
	client.LogQuery

	Since string
}

func newLogs(s *term.Streams) *cobra.Command {
	o := &logsOptions{}
	c := command.NewRemote(s, o, runLogs, &cobra.Command{
		Use:   "logs TASK",
		Short: "Show a task's logs",
		Long: `Show a task's logs. With --output json each line is one object, of the form
that the API has.`,
		Example: `  det-deploy task logs 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a --tail 50
  det-deploy task logs --follow 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a
  det-deploy task logs --since 10m --rank 0 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a`,
	})
	f := c.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "follow the log until the task has ended")
	f.IntVar(&o.Tail, "tail", 0, "number of last lines to show (default all)")
	f.IntVar(&o.Head, "head", 0, "number of first lines to show (default all)")
	f.StringVar(&o.Since, "since", "", "show lines since a duration such as 10m, or a time such as 2006-01-02T15:04:05Z")
	f.StringSliceVar(&o.Agents, "agent", nil, "show only lines from these agents")
	f.StringSliceVar(&o.Containers, "container", nil, "show only lines from these containers")
	f.StringSliceVar(&o.Ranks, "rank", nil, "show only lines of these ranks")
	f.StringSliceVar(&o.Sources, "source", nil, "show only lines from these sources, such as agent or task")
	f.StringSliceVar(&o.Stdtypes, "stream", nil, "show only lines from these streams: stdout or stderr")
	return c
}

// Validate refuses flags that exclude each other, and reads --since.
func (o *logsOptions) Validate() error {
	switch {
	case o.Tail < 0 || o.Head < 0:
		return usage.Errorf("--tail and --head take a number of lines, 1 or more")
	case o.Tail > 0 && o.Head > 0:
		return usage.Errorf("--tail and --head exclude each other")
	case o.Follow && (o.Tail > 0 || o.Head > 0):
		return usage.Errorf("--follow shows all lines: leave out --tail and --head, or use --since")
	}
	var err error
	o.LogQuery.Since, err = usage.Since(o.Since, time.Now())
	return err
}

func runLogs(ctx context.Context, o *logsOptions, master *client.Client) error {
	return command.AnswerStream(&o.Local, master.Logs(ctx, o.Args[0], o.LogQuery),
		func(l *apiv1.TaskLogsResponse) *apiv1.TaskLogsResponse { return l },
		func(l *apiv1.TaskLogsResponse) error { return printLine(o.Streams, l) })
}

// printLine writes a line of a task's log behind the head that the master made for
// it. Of several lines at once, which only programs in the task send, the head is
// not told apart.
func printLine(s *term.Streams, line *apiv1.TaskLogsResponse) error {
	text := strings.TrimSuffix(line.GetLog(), "\n") + "\n"
	head, found := strings.CutSuffix(line.GetMessage(), text)
	if !found {
		return s.PrintForeign(line.GetMessage(), "")
	}
	return s.PrintForeign(head, text)
}
