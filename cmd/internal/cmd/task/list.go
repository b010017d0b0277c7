package task

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

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
		Fetch:   fetchTasks,
		Reply:   func(list []*apiv1.Command) any { return &apiv1.GetCommandsResponse{Commands: list} },
		Columns: columns(),
		Filters: []command.Filter{{Column: "STATE", Words: statuses()}, {Column: "POOL", Noun: client.Pools}},
		None:    "No tasks found.",
	}, &cobra.Command{
		Use: "list", Short: "List your tasks, newest first",
		Example: "  det-deploy task list\n  det-deploy task list --all --output json",
	})
	o.AddOwnerFlags(c)
	c.Flags().StringVar(&o.ArrayID, "array-id", "", "show only the tasks of this array, sorted by index")
	return c
}

// statuses returns the values of --state.
func statuses() []string {
	var out []string
	for _, s := range slices.Concat(apiv1.OpenStatuses(), apiv1.EndStatuses()) {
		out = append(out, string(s))
	}
	return out
}

func columns() []command.Column[*apiv1.Command] {
	return []command.Column[*apiv1.Command]{
		{Head: "ID", Value: func(c *apiv1.Command) any { return term.ID(c.GetId()) }},
		{Head: "NAME", Rank: 2, Shortest: 16, Value: func(c *apiv1.Command) any { return c.GetDescription() }},
		{Head: "USER", Rank: 7, Shortest: 8, Value: func(c *apiv1.Command) any { return c.GetUsername() }},
		{Head: "STATE", Rank: 1, Value: func(c *apiv1.Command) any { return show.TaskState(c) }},
		{Head: "POOL", Rank: 8, Shortest: 8, Value: func(c *apiv1.Command) any { return c.GetResourcePool() }},
		{Head: ">SLOTS", Rank: 7, Value: func(c *apiv1.Command) any { return c.GetSlots() }},
		{Head: "AGE", Rank: 3, Value: func(c *apiv1.Command) any { return show.When(c.GetStartTime()) }},
		{Head: "DURATION", Rank: 4, Value: func(c *apiv1.Command) any { return duration(c) }},
		{Head: ">EXIT", Rank: 4, Value: func(c *apiv1.Command) any { return exitCode(c) }},
		{Head: "COMMAND", Rank: 6, Shortest: 16, Value: func(c *apiv1.Command) any { return c.GetCommandLine() }},
		{Head: "REASON", Rank: 5, Shortest: 20, Value: func(c *apiv1.Command) any { return c.GetReason() }},
	}
}

// duration returns how long a task ran or has run, or "" if it has not.
func duration(c *apiv1.Command) any {
	if c.GetAssignedTime() == nil {
		return ""
	}
	return show.Between(c.GetAssignedTime(), c.GetEndTime(), time.Now())
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
