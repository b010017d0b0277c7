package workspace

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newDescribe(s *term.Streams) *cobra.Command {
	o := &command.Remote{Names: client.Workspaces}
	return command.NewRemote(s, o, runDescribe, &cobra.Command{
		Use: "describe WORKSPACE", Short: "Show a workspace",
		Example: "  det-deploy workspace describe vision",
	})
}

func runDescribe(ctx context.Context, o *command.Remote, master *client.Client) error {
	w, err := fetchWorkspace(ctx, master, o.Args[0])
	if err != nil {
		return err
	}
	var members []string
	if len(w.GetMemberIds()) > 0 && o.Output.IsTable() {
		if members, err = namesOf(ctx, master, w.GetMemberIds()); err != nil {
			return err
		}
	}
	return o.AnswerPairs(w, pairs(w, members)...)
}

func pairs(w *apiv1.Workspace, members []string) [][2]string {
	return [][2]string{
		{"ID", strconv.Itoa(int(w.GetId()))},
		{"Name", w.GetName()},
		{"User", w.GetUsername()},
		{"State", stateOf(w)},
		{"Deletion failed", w.GetErrorMessage()},
		{"Projects", strconv.Itoa(int(w.GetNumProjects()))},
		{"Experiments", strconv.Itoa(int(w.GetNumExperiments()))},
		{"Default pool", w.GetDefaultComputePool()},
		{"Auxiliary pool", w.GetDefaultAuxPool()},
		{"Storage", describeStorage(w)},
		{"Unix account", describeAccount(w.GetAgentUserGroup())},
		{"Members", strings.Join(members, ", ")},
	}
}

// describeStorage returns the checkpoint storage as JSON. It has no secrets.
func describeStorage(w *apiv1.Workspace) string {
	if len(w.GetCheckpointStorageConfig().GetFields()) == 0 {
		return ""
	}
	text, err := w.GetCheckpointStorageConfig().MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// describeAccount returns "user (ID), group (ID)", or "" for a workspace without an account.
func describeAccount(g *apiv1.AgentUserGroup) string {
	if g == nil {
		return ""
	}
	var parts []string
	for _, part := range []struct {
		name string
		id   *int32
	}{{g.GetAgentUser(), g.AgentUid}, {g.GetAgentGroup(), g.AgentGid}} {
		text := part.name
		if part.id != nil {
			text = strings.TrimSpace(text + " (" + strconv.Itoa(int(*part.id)) + ")")
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}
