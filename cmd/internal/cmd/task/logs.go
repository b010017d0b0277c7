package task

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type logsOptions struct {
	command.LogOptions

	ExitCode bool
}

// Validate checks the flags.
func (o *logsOptions) Validate() error {
	if o.ExitCode && !o.Follow {
		return usage.Errorf("--exit-code: requires --follow, because a task has no exit code before its end")
	}
	return o.LogOptions.Validate()
}

func newLogs(s *term.Streams) *cobra.Command {
	o := &logsOptions{LogOptions: command.LogOptions{Remote: command.Remote{Names: client.Tasks}}}
	c := command.NewRemote(s, o, runLogs, &cobra.Command{
		Use:   "logs TASK",
		Short: "Show a task's logs",
		Long: `Show a task's logs, or those of the tasks of an array, one after the other. With --output
json, each line is an object in the format of the API. With --exit-code, the exit code is that
of the task, or of the first task of an array that failed, and 125 if a task ended without one.`,
		Example: `  det-deploy task logs 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a --tail 50
  det-deploy task logs --follow 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a
  det-deploy task logs --follow --exit-code 5d1f6f2e
  det-deploy task logs --since 10m --rank 0 --level warning 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a`,
	})
	o.AddLogFlags(c, "task")
	c.Flags().BoolVar(&o.ExitCode, "exit-code", false, "end with the exit code of the task; requires --follow")
	return c
}

func runLogs(ctx context.Context, o *logsOptions, master *client.Client) error {
	err := printLog(ctx, o, master, o.Args[0])
	if client.KindOf(err) == client.NotFound {
		return printArrayLogs(ctx, o, master, err)
	}
	if err != nil || !o.ExitCode {
		return err
	}
	return exit.Followed(ctx, codeOf(ctx, master, o.Args[0]))
}

// codeOf returns the exit code of an ended task of any kind as an error, or nil for 0.
func codeOf(ctx context.Context, master *client.Client, id string) error {
	reply, err := master.Task(ctx, id)
	if err != nil {
		return err
	}
	last := &apiv1.Allocation{}
	if all := reply.GetTask().GetAllocations(); len(all) > 0 {
		last = all[0] // the newest
	}
	switch {
	case last.StatusCode == nil:
		return exit.With(exit.NotTheTask, &failedError{id: id, status: last.GetExitReason()})
	case last.GetStatusCode() != 0:
		return exit.With(exit.Code(last.GetStatusCode()), nil)
	}
	return nil
}

func printLog(ctx context.Context, o *logsOptions, master *client.Client, id string) error {
	return command.PrintLog(ctx, &o.Local, master.Logs(ctx, id, o.LogQuery))
}

// printArrayLogs prints the logs of the tasks of an array, by index. It returns noTask if there is no
// array with this ID.
func printArrayLogs(ctx context.Context, o *logsOptions, master *client.Client, noTask error) error {
	list, err := findArray(ctx, master, o.Args[0], noTask)
	if err != nil {
		return exit.Followed(ctx, err)
	}
	for _, c := range list {
		if err := printLog(ctx, o, master, c.GetId()); err != nil {
			return err
		}
	}
	if !o.ExitCode {
		return nil
	}
	for _, c := range list {
		if err := codeOf(ctx, master, c.GetId()); err != nil {
			return exit.Followed(ctx, err)
		}
	}
	return nil
}
