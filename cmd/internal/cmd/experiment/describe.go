package experiment

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
	return command.NewRemote(s, &command.Remote{}, runDescribe, &cobra.Command{
		Use: "describe EXPERIMENT", Short: "Show one experiment: how far it is, and what it found",
		Example: "  det-deploy experiment describe 7",
	})
}

func runDescribe(ctx context.Context, o *command.Remote, master *client.Client) error {
	id, err := readID(o.Args[0])
	if err != nil {
		return err
	}
	reply, err := master.Experiment(ctx, id)
	if err != nil {
		return err
	}
	x := reply.GetExperiment()
	return o.AnswerPairs(reply,
		[2]string{"ID", strconv.Itoa(int(x.GetId()))},
		[2]string{"Name", x.GetName()},
		[2]string{"Description", x.GetDescription()},
		[2]string{"User", x.GetUsername()},
		[2]string{"Project", x.GetWorkspaceName() + " / " + x.GetProjectName()},
		[2]string{"Labels", strings.Join(x.GetLabels(), ", ")},
		[2]string{"State", show.Enum(x.GetState(), "STATE_")},
		[2]string{"Progress", formatPercent(x.GetProgress())},
		[2]string{"Searcher", x.GetSearcherType()},
		[2]string{"Trials", strconv.Itoa(int(x.GetNumTrials()))},
		[2]string{"Best", describeBest(x)},
		[2]string{"Checkpoints", describeCheckpoints(x)},
		[2]string{"Pool", x.GetResourcePool()},
		[2]string{"Forked from", describeParent(x)},
		[2]string{"Started", show.Time(x.GetStartTime())},
		[2]string{"Ended", show.Time(x.GetEndTime())},
		[2]string{"Archived", show.YesNo(x.GetArchived())},
		[2]string{"Job", x.GetJobId()},
	)
}

func describeBest(x *apiv1.Experiment) string {
	if x.BestTrialId == nil {
		return ""
	}
	return fmt.Sprintf("%s of trial %d", formatBest(x), x.GetBestTrialId())
}

func describeCheckpoints(x *apiv1.Experiment) string {
	if x.GetCheckpointCount() == 0 {
		return ""
	}
	return fmt.Sprintf("%d (%.1f MB)", x.GetCheckpointCount(), float64(x.GetCheckpointSize())/1e6)
}

func describeParent(x *apiv1.Experiment) string {
	if x.GetForkedFrom() == nil {
		return ""
	}
	return fmt.Sprintf("experiment %d", x.GetForkedFrom().GetValue())
}
