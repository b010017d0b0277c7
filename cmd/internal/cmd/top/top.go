// Package top implements the command that shows machines, queue and a task's log of a cluster live. The
// model is pure: the cluster's state and the time arrive as messages.
package top

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

const (
	// refreshInterval is the time between a response of the master and the next poll.
	refreshInterval = 2 * time.Second
	// logLines is the number of log lines shown for the selected task.
	logLines = 200
	// instead names the commands to use without a terminal.
	instead = "`det-deploy agent list`, `pool list`, `job list` or `task logs`, each with --output json"
)

type topOptions struct {
	command.Base
	contexts.MasterFlag
}

// New returns `det-deploy top`.
func New(s *term.Streams) *cobra.Command {
	o := &topOptions{}
	c := command.New(s, o, runTop, &cobra.Command{
		Use:   "top",
		Short: "Watch the machines, queue and logs of a cluster",
		Long: `Watch a cluster on a full-screen display: machines and their slots, running and waiting
tasks with the reasons for waiting, and the log of the selected task. Keys are listed at
the bottom. It requires a terminal; scripts can use the list commands with --output json.`,
		Example: "  det-deploy top\n  det-deploy top --master lab",
	})
	o.AddFlag(c.Flags())
	return c
}

func runTop(ctx context.Context, o *topOptions) error {
	if err := o.CheckScreen(instead); err != nil {
		return err
	}
	where, _, err := o.Resolve(o.Streams)
	if err != nil {
		return err
	}
	master, err := where.Client() // without messages on the screen while the master is unavailable
	if err != nil {
		return err
	}
	defer master.Close()
	first, err := fetchSnapshot(ctx, master)
	if err != nil {
		return err
	}
	_, err = o.DrawScreen(ctx, newModel(first, masterCommands(ctx, master)), instead)
	return exit.Followed(ctx, err)
}

// masterCommands returns the commands that poll the master.
func masterCommands(ctx context.Context, master *client.Client) ways {
	return ways{
		url: master.URL(),
		look: func() tea.Msg {
			s, err := fetchSnapshot(ctx, master)
			return lookedMsg{s, err}
		},
		wait: func() tea.Cmd { return tea.Tick(refreshInterval, func(time.Time) tea.Msg { return dueMsg{} }) },
		readLog: func(task string) tea.Cmd {
			return func() tea.Msg {
				lines, err := readLog(ctx, master, task)
				return logMsg{task, lines, err}
			}
		},
	}
}
