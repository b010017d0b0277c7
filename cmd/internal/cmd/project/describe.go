package project

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newDescribe(s *term.Streams) *cobra.Command {
	return command.NewDescribe(s, command.Description[*apiv1.Project]{Fetch: fetchProject, Pairs: pairs, Names: client.Projects}, &cobra.Command{
		Use: "describe PROJECT", Short: "Show a project and its notes",
		Example: "  det-deploy project describe faces\n  det-deploy project describe vision/faces",
	})
}

func pairs(p *apiv1.Project) [][2]string {
	out := [][2]string{
		{"ID", strconv.Itoa(int(p.GetId()))},
		{"Name", p.GetName()},
		{"Workspace", p.GetWorkspaceName()},
		{"Key", p.GetKey()},
		{"Description", p.GetDescription()},
		{"User", p.GetUsername()},
		{"State", stateOf(p)},
		{"Deletion failed", p.GetErrorMessage()},
		{"Experiments", strconv.Itoa(int(p.GetNumExperiments()))},
		{"Active", strconv.Itoa(int(p.GetNumActiveExperiments()))},
		{"Last started", show.Time(p.GetLastExperimentStartedAt())},
	}
	for _, n := range p.GetNotes() {
		out = append(out, [2]string{"Note " + n.GetName(), n.GetContents()})
	}
	return out
}
