package task

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Owned

	ArrayID string
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.Command]{
		Fetch: fetchTasks,
		Reply: func(list []*apiv1.Command) any { return &apiv1.GetCommandsResponse{Commands: list} },
		Heads: heads(),
		Row:   row,
	}, &cobra.Command{
		Use: "list", Short: "List your tasks, newest first",
		Example: "  det-deploy task list\n  det-deploy task list --all --output json",
	})
	o.AddAllFlag(c.Flags())
	c.Flags().StringVar(&o.ArrayID, "array-id", "", "show only the tasks of this array, sorted by index")
	return c
}

func heads() []string {
	return []string{"ID", "NAME", "USER", "STATE", "POOL", "STARTED", ">EXIT", "NOTE"}
}

func row(c *apiv1.Command) []any {
	return []any{
		c.GetId(), c.GetDescription(), c.GetUsername(), show.TaskState(c), c.GetResourcePool(),
		show.Time(c.GetStartTime()), exitCode(c), c.GetReason(),
	}
}

func fetchTasks(ctx context.Context, o *listOptions, master *client.Client) ([]*apiv1.Command, error) {
	if o.ArrayID != "" {
		return master.ArrayCommands(ctx, o.ArrayID)
	}
	users, err := o.Owners(ctx, master)
	if err != nil {
		return nil, err
	}
	list, err := master.Commands(ctx, users...)
	slices.SortStableFunc(list, func(x, y *apiv1.Command) int {
		return cmp.Compare(y.GetStartTime().AsTime().UnixNano(), x.GetStartTime().AsTime().UnixNano())
	})
	return list, err
}

func exitCode(c *apiv1.Command) string {
	if c.ExitCode == nil {
		return ""
	}
	return strconv.Itoa(int(c.GetExitCode()))
}
