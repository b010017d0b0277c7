// Package workspace implements the commands that manage workspaces.
package workspace

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

const noun = "workspace"

// New returns `det-deploy workspace`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, noun, "Manage workspaces", "  det-deploy workspace list\n  det-deploy workspace create vision",
		newList, newDescribe, newCreate, newEdit, newArchive, newUnarchive, newDelete)
}

func newArchive(s *term.Streams) *cobra.Command {
	return archive(s, true, "Archived", &cobra.Command{
		Use: "archive WORKSPACE…", Short: "Make workspaces read-only and hide them from lists",
		Example: "  det-deploy workspace archive vision",
	})
}

func newUnarchive(s *term.Streams) *cobra.Command {
	return archive(s, false, "Unarchived", &cobra.Command{
		Use: "unarchive WORKSPACE…", Short: "Open archived workspaces again",
		Example: "  det-deploy workspace unarchive vision",
	})
}

func archive(s *term.Streams, archived bool, done string, c *cobra.Command) *cobra.Command {
	return command.NewChange(s, command.Change[*apiv1.Workspace]{
		Names: client.Workspaces, Fetch: fetchWorkspace, Reply: reply,
		Do: func(ctx context.Context, master *client.Client, w *apiv1.Workspace) (*apiv1.Workspace, string, error) {
			if err := master.ArchiveWorkspace(ctx, w.GetId(), archived); err != nil {
				return nil, "", err
			}
			after, err := master.Workspace(ctx, w.GetId())
			return after, fmt.Sprintf("%s workspace %s.", done, w.GetName()), err
		},
	}, c)
}

func fetchWorkspace(ctx context.Context, master *client.Client, text string) (*apiv1.Workspace, error) {
	return command.ByNumber(noun, (*client.Client).Workspace)(ctx, master, text)
}

func reply(list []*apiv1.Workspace) any { return &apiv1.GetWorkspacesResponse{Workspaces: list} }

// stateOf returns what restricts the use of a workspace, or "open".
func stateOf(w *apiv1.Workspace) string {
	if deletion := show.Enum(w.GetState(), "WORKSPACE_STATE_"); deletion != "" {
		return deletion
	}
	if w.GetArchived() {
		return "archived"
	}
	return "open"
}
