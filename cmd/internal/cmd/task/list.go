package task

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	*term.Streams
	contexts.Target

	All    bool
	Output term.Format
}

func newList(s *term.Streams, run func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Streams: s}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List your tasks, newest first",
		Example: "  det-deploy task list\n  det-deploy task list --all --output json",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().BoolVarP(&o.All, "all", "a", false, "include other users")
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runList(ctx context.Context, o *listOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	var users []string
	if !o.All {
		me, err := master.Me(ctx)
		if err != nil {
			return err
		}
		users = []string{me.GetUsername()}
	}
	commands, err := master.Commands(ctx, users...)
	if err != nil {
		return err
	}
	slices.SortStableFunc(commands, func(x, y *apiv1.Command) int {
		return cmp.Compare(y.GetStartTime().AsTime().UnixNano(), x.GetStartTime().AsTime().UnixNano())
	})
	if o.Output == term.JSON {
		return o.PrintMessage(&apiv1.GetCommandsResponse{Commands: commands})
	}
	t := term.NewTable("ID", "NAME", "USER", "STATE", "POOL", "STARTED", ">EXIT", "NOTE")
	for _, c := range commands {
		t.Row(c.GetId(), c.GetDescription(), c.GetUsername(), stateOf(c.GetState()), c.GetResourcePool(), formatTime(c), exitCode(c), c.GetReason())
	}
	return o.PrintTable(t)
}

func formatTime(c *apiv1.Command) string {
	if c.GetStartTime() == nil {
		return ""
	}
	return c.GetStartTime().AsTime().Local().Format(time.DateTime)
}

func exitCode(c *apiv1.Command) string {
	if c.ExitCode == nil {
		return ""
	}
	return strconv.Itoa(int(c.GetExitCode()))
}
