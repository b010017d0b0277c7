package workspace

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
	return command.NewChange(s, command.Change[*apiv1.Workspace]{
		Names: client.Workspaces, Fetch: fetchWorkspace, Reply: reply, Ask: question, Do: deleteWorkspace,
	}, &cobra.Command{
		Use: "delete WORKSPACE…", Aliases: []string{"rm"}, Short: "Delete workspaces with all that they contain",
		Long: `Delete workspaces with their projects, experiments, checkpoints and templates, and end
their tasks (irreversible). A workspace with models cannot be deleted: move or delete
the models first. The master deletes experiments one by one; until all are deleted, the
workspace has the state deleting.`,
		Example: "  det-deploy workspace delete vision --yes",
	})
}

// question names what would be deleted.
func question(list []*apiv1.Workspace) string {
	var parts []string
	for _, w := range list {
		parts = append(parts, fmt.Sprintf("workspace %s (%s, %s)", w.GetName(),
			term.Count(int(w.GetNumProjects()), "project"), term.Count(int(w.GetNumExperiments()), "experiment")))
	}
	return "Delete " + strings.Join(parts, ", ") + " with all checkpoints, metrics, logs and templates, and end their tasks? This is irreversible."
}

func deleteWorkspace(ctx context.Context, master *client.Client, w *apiv1.Workspace) (*apiv1.Workspace, string, error) {
	done, err := master.DeleteWorkspace(ctx, w.GetId())
	if done {
		w.State = apiv1.WorkspaceState_WORKSPACE_STATE_DELETED
		return w, fmt.Sprintf("Deleted workspace %s.", w.GetName()), err
	}
	w.State = apiv1.WorkspaceState_WORKSPACE_STATE_DELETING
	return w, fmt.Sprintf("Deleting workspace %s; it is listed until its experiments are deleted.", w.GetName()), err
}
