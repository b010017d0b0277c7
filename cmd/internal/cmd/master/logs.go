package master

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type logsOptions struct {
	*term.Streams
	contexts.Target

	Follow bool
	Tail   int
	Output term.Format
}

func newLogs(s *term.Streams, run func(context.Context, *logsOptions) error) *cobra.Command {
	o := &logsOptions{Streams: s}
	c := &cobra.Command{
		Use:     "logs",
		Short:   "Show the master's own log",
		Example: "  det-deploy master logs --tail 100\n  det-deploy master logs --follow",
		Args:    usage.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "follow new lines until interrupted")
	c.Flags().IntVar(&o.Tail, "tail", 0, "number of last lines to show (default all)")
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func (o *logsOptions) validate() error {
	if o.Tail < 0 {
		return usage.Errorf("--tail %d: must be 1 or more lines", o.Tail)
	}
	return nil
}

func runLogs(ctx context.Context, o *logsOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	for line, err := range master.MasterLogs(ctx, o.Follow, o.Tail) {
		if err != nil {
			return err
		}
		if o.Output == term.JSON {
			err = o.PrintMessageLine(line.GetLogEntry())
		} else {
			err = o.PrintForeign("", text(line.GetLogEntry()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// text is one line for people.
func text(e *apiv1.LogEntry) string {
	level := strings.ToLower(strings.TrimPrefix(e.GetLevel().String(), "LOG_LEVEL_"))
	return fmt.Sprintf("[%s] %s: %s\n", e.GetTimestamp().AsTime().UTC().Format(time.RFC3339), level, strings.TrimSuffix(e.GetMessage(), "\n"))
}
