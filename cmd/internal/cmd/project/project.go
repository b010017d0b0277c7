// Package project implements the commands that manage projects.
package project

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

const noun = "project"

// New returns `det-deploy project`.
func New(s *term.Streams) *cobra.Command {
	return command.NewNoun(s, noun, "Manage projects", "  det-deploy project list\n  det-deploy project create vision faces",
		newList, newDescribe, newCreate, newEdit, newMove, newArchive, newUnarchive, newDelete)
}

func newArchive(s *term.Streams) *cobra.Command {
	return archive(s, true, "Archived", &cobra.Command{
		Use: "archive PROJECT…", Short: "Make projects read-only and hide them from lists",
		Example: "  det-deploy project archive vision/faces",
	})
}

func newUnarchive(s *term.Streams) *cobra.Command {
	return archive(s, false, "Unarchived", &cobra.Command{
		Use: "unarchive PROJECT…", Short: "Open archived projects again",
		Example: "  det-deploy project unarchive vision/faces",
	})
}

func archive(s *term.Streams, archived bool, done string, c *cobra.Command) *cobra.Command {
	return command.NewChange(s, command.Change[*apiv1.Project]{
		Names: client.Projects, Fetch: fetchProject, Reply: reply,
		Do: func(ctx context.Context, master *client.Client, p *apiv1.Project) (*apiv1.Project, string, error) {
			if err := master.ArchiveProject(ctx, p.GetId(), archived); err != nil {
				return nil, "", err
			}
			after, err := master.Project(ctx, p.GetId())
			return after, fmt.Sprintf("%s project %s.", done, pathOf(p)), err
		},
	}, c)
}

func newMove(s *term.Streams) *cobra.Command {
	return command.NewMove(s, command.Move[*apiv1.Project]{
		Change: command.Change[*apiv1.Project]{Names: client.Projects, Fetch: fetchProject, Reply: reply},
		To:     client.Workspaces,
		Do: func(ctx context.Context, master *client.Client, p *apiv1.Project, to int32) (*apiv1.Project, string, error) {
			if err := master.MoveProject(ctx, p.GetId(), to); err != nil {
				return nil, "", err
			}
			after, err := master.Project(ctx, p.GetId())
			return after, fmt.Sprintf("Moved project %s to workspace %s.", pathOf(p), after.GetWorkspaceName()), err
		},
	}, &cobra.Command{
		Use: "move PROJECT…", Short: "Move projects with their experiments to another workspace",
		Example: "  det-deploy project move vision/faces --to research",
	})
}

func fetchProject(ctx context.Context, master *client.Client, text string) (*apiv1.Project, error) {
	return command.ByNumber(noun, (*client.Client).Project)(ctx, master, text)
}

func reply(list []*apiv1.Project) any { return &apiv1.GetWorkspaceProjectsResponse{Projects: list} }

// pathOf returns the name of a project as WORKSPACE/PROJECT.
func pathOf(p *apiv1.Project) string { return p.GetWorkspaceName() + "/" + p.GetName() }

// stateOf returns what restricts the use of a project, or "open".
func stateOf(p *apiv1.Project) string {
	if deletion := show.Enum(p.GetState(), "WORKSPACE_STATE_"); deletion != "" {
		return deletion
	}
	if p.GetArchived() {
		return "archived"
	}
	return "open"
}
