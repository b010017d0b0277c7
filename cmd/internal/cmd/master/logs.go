package master

import (
	"context"
	"fmt"
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

	Follow bool
	Tail   int
}

func newLogs(s *term.Streams) *cobra.Command {
	o := &logsOptions{}
	c := command.NewRemote(s, o, runLogs, &cobra.Command{
		Use: "logs", Short: "Show the master's log",
		Example: "  det-deploy master logs --tail 100\n  det-deploy master logs --follow",
	})
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "follow new lines until interrupted")
	c.Flags().IntVar(&o.Tail, "tail", 0, "number of last lines to show (default all)")
	return c
}

func (o *logsOptions) Validate() error {
	if o.Tail < 0 {
		return usage.Errorf("--tail %d: must be 1 or more lines", o.Tail)
	}
	return nil
}

func runLogs(ctx context.Context, o *logsOptions, master *client.Client) error {
	return command.AnswerStream(ctx, &o.Local, master.MasterLogs(ctx, o.Follow, o.Tail), (*apiv1.MasterLogsResponse).GetLogEntry,
		func(e *apiv1.LogEntry) error { return o.PrintForeign("", text(e)) })
}

// text formats an entry as a line of text.
func text(e *apiv1.LogEntry) string {
	level := strings.ToLower(strings.TrimPrefix(e.GetLevel().String(), "LOG_LEVEL_"))
	return fmt.Sprintf("[%s] %s: %s\n", e.GetTimestamp().AsTime().UTC().Format(time.RFC3339), level, strings.TrimSuffix(e.GetMessage(), "\n"))
}
