package task

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Owned
	client.TaskQuery

	ArrayID string
	since   string
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.Command]{
		Fetch:   fetchTasks,
		Reply:   func(list []*apiv1.Command) any { return &apiv1.GetCommandsResponse{Commands: list} },
		Columns: columns(),
		None:    "No tasks found.",
	}, &cobra.Command{
		Use: "list", Short: "List your tasks, newest first",
		Long: `List tasks, newest first: those that have not ended, and those that ended within the last day.
With --since they reach further back, as long as the cluster keeps the logs of tasks.`,
		Example: "  det-deploy task list\n  det-deploy task list --all --output json\n  det-deploy task list --state failed,lost --since 30d --label team=vision",
	})
	o.AddOwnerFlags(c)
	f := c.Flags()
	command.AddWordsFlag(c, &o.States, "state", statuses())
	f.StringSliceVar(&o.Pools, "pool", nil, "show only tasks of these pools")
	o.CompleteFlag(c, "pool", client.Pools)
	f.StringSliceVarP(&o.Labels, "label", "l", nil, "show only tasks with this label, as KEY=VALUE; repeatable")
	f.StringVar(&o.since, "since", "", `show tasks that ended since a duration such as 30d, a date, or "all" (default 1d)`)
	f.StringVar(&o.ArrayID, "array-id", "", "show only the tasks of this array, sorted by index")
	return c
}

// Validate checks the filters and parses --since.
func (o *listOptions) Validate() (err error) {
	if err := command.CheckWords("state", o.States, statuses()); err != nil {
		return err
	}
	if _, err := readLabels(o.Labels); err != nil {
		return err
	}
	switch o.since {
	case "all":
	case "":
		o.Since = time.Now().Add(-listedByDefault)
	default:
		o.Since, err = usage.Since(o.since, time.Now())
	}
	return err
}

// listedByDefault is the time for which ended tasks are listed without --since.
const listedByDefault = 24 * time.Hour

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
		{Head: "LABELS", Wide: true, Value: func(c *apiv1.Command) any { return formatLabels(c.GetLabels()) }},
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
		list, err := master.ArrayCommands(ctx, o.ArrayID)
		return slices.DeleteFunc(list, func(c *apiv1.Command) bool { return !o.selects(c) }), err
	}
	var err error
	if o.Users, err = o.Owners(ctx, master); err != nil {
		return nil, err
	}
	o.Limit = o.List.ServerLimit()
	list, err := master.TaskHistory(ctx, o.TaskQuery)
	if err == nil && len(list) == 0 {
		return nil, command.CheckPools(ctx, master, o.Pools...)
	}
	slices.SortStableFunc(list, func(x, y *apiv1.Command) int {
		return cmp.Compare(y.GetStartTime().AsTime().UnixNano(), x.GetStartTime().AsTime().UnixNano())
	})
	return list, err
}

// selects reports whether the filters of the command select a task of an array.
func (o *listOptions) selects(c *apiv1.Command) bool {
	for _, l := range o.Labels {
		key, value, _ := strings.Cut(l, "=")
		if have, found := c.GetLabels()[key]; !found || have != value {
			return false
		}
	}
	return (len(o.States) == 0 || slices.Contains(o.States, show.TaskState(c))) &&
		(len(o.Pools) == 0 || slices.Contains(o.Pools, c.GetResourcePool()))
}

func exitCode(c *apiv1.Command) string {
	if c.ExitCode == nil {
		return ""
	}
	return strconv.Itoa(int(c.GetExitCode()))
}
