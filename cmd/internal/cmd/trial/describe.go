package trial

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newDescribe(s *term.Streams) *cobra.Command {
	return command.NewDescribe(s, command.Description[*apiv1.GetTrialResponse]{
		Fetch: command.ByNumber(noun, (*client.Client).TrialDetail), Lines: lastLines,
		Pairs: func(reply *apiv1.GetTrialResponse) [][2]string { return show.Trial(reply.GetTrial()) }, Names: client.Trials,
	}, &cobra.Command{
		Use: "describe TRIAL", Short: "Show a trial's status and results",
		Example: "  det-deploy trial describe 12\n  det-deploy trial describe 7.1",
	})
}

func lastLines(reply *apiv1.GetTrialResponse) (title string, lines []string) {
	return "Last lines:", reply.GetLastLines()
}
