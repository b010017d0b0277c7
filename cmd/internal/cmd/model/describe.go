package model

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newDescribe(s *term.Streams) *cobra.Command {
	return command.NewDescribe(s, command.Description[*apiv1.GetModelVersionsResponse]{Fetch: fetchModel, Pairs: pairs, Names: client.Models}, &cobra.Command{
		Use: "describe MODEL", Short: "Show a model and its versions",
		Long:    "Show a model, given by name or ID, and the checkpoints of its versions.",
		Example: "  det-deploy model describe digits\n  det-deploy model describe 3 --output json",
	})
}

func fetchModel(ctx context.Context, master *client.Client, name string) (*apiv1.GetModelVersionsResponse, error) {
	return master.ModelVersions(ctx, name)
}

func pairs(reply *apiv1.GetModelVersionsResponse) [][2]string {
	m := reply.GetModel()
	out := [][2]string{
		{"ID", strconv.Itoa(int(m.GetId()))},
		{"Name", m.GetName()},
		{"Description", m.GetDescription()},
		{"User", m.GetUsername()},
		{"Labels", strings.Join(m.GetLabels(), ", ")},
		{"Created", show.Time(m.GetCreationTime())},
		{"Updated", show.Time(m.GetLastUpdatedTime())},
		{"Archived", show.YesNo(m.GetArchived())},
		{"Notes", m.GetNotes()},
	}
	for _, v := range reply.GetModelVersions() {
		out = append(out, [2]string{fmt.Sprintf("Version %d", v.GetVersion()), describeVersion(v)})
	}
	return out
}

// describeVersion describes the checkpoint, name and comment of a version.
func describeVersion(v *apiv1.ModelVersion) string {
	text := "checkpoint " + v.GetCheckpoint().GetUuid()
	if id := v.GetCheckpoint().GetTraining().GetTrialId(); id != nil {
		text += fmt.Sprintf(" of trial %d", id.GetValue())
	}
	text += fmt.Sprintf(", registered %s by %s", show.Time(v.GetCreationTime()), v.GetUsername())
	for _, more := range []string{v.GetName(), v.GetComment()} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}
