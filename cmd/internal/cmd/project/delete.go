package project

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newDelete(s *term.Streams) *cobra.Command {
	return command.NewChange(s, command.Change[*apiv1.Project]{
		Names: client.Projects, Fetch: fetchProject, Reply: reply, Ask: question, Do: deleteProject,
	}, &cobra.Command{
		Use: "delete PROJECT…", Aliases: []string{"rm"}, Short: "Delete projects with their experiments",
		Long: `Delete projects with their experiments and checkpoints (irreversible); running
experiments are killed. The master deletes experiments one by one; until all are
deleted, the project has the state deleting.`,
		Example: "  det-deploy project delete vision/faces --yes",
	})
}

// question names what would be deleted.
func question(list []*apiv1.Project) string {
	var parts []string
	for _, p := range list {
		parts = append(parts, fmt.Sprintf("project %s (%s, %d active)", pathOf(p), term.Count(int(p.GetNumExperiments()), "experiment"), p.GetNumActiveExperiments()))
	}
	return "Delete " + strings.Join(parts, ", ") + " with all checkpoints, metrics and logs? This is irreversible."
}

func deleteProject(ctx context.Context, master *client.Client, p *apiv1.Project) (*apiv1.Project, string, error) {
	done, err := master.DeleteProject(ctx, p.GetId())
	if done {
		p.State = apiv1.WorkspaceState_WORKSPACE_STATE_DELETED
		return p, fmt.Sprintf("Deleted project %s.", pathOf(p)), err
	}
	p.State = apiv1.WorkspaceState_WORKSPACE_STATE_DELETING
	return p, fmt.Sprintf("Deleting project %s; it is listed until its experiments are deleted.", pathOf(p)), err
}
