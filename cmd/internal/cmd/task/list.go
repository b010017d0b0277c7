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
	command.Remote

	All bool
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewRemote(s, o, runList, &cobra.Command{
		Use: "list", Short: "List your tasks, newest first",
		Example: "  det-deploy task list\n  det-deploy task list --all --output json",
	})
	c.Flags().BoolVarP(&o.All, "all", "a", false, "include other users")
	return c
}

func runList(ctx context.Context, o *listOptions, master *client.Client) error {
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
	t := term.NewTable("ID", "NAME", "USER", "STATE", "POOL", "STARTED", ">EXIT", "NOTE")
	for _, c := range commands {
		t.Row(c.GetId(), c.GetDescription(), c.GetUsername(), show.Enum(c.GetState(), "STATE_"), c.GetResourcePool(),
			show.Time(c.GetStartTime()), exitCode(c), c.GetReason())
	}
	return o.AnswerTable(&apiv1.GetCommandsResponse{Commands: commands}, t)
}

func exitCode(c *apiv1.Command) string {
	if c.ExitCode == nil {
		return ""
	}
	return strconv.Itoa(int(c.GetExitCode()))
}
