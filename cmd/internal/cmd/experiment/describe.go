package experiment

import (
	"cmp"
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
	return command.NewDescribe(s, command.Description[*apiv1.GetExperimentResponse]{
		Fetch: command.ByNumber(noun, (*client.Client).ExperimentDetail), Pairs: pairs, Names: client.Experiments, Lines: lastLines,
	}, &cobra.Command{
		Use: "describe EXPERIMENT", Short: "Show an experiment's status and results",
		Example: "  det-deploy experiment describe 7",
	})
}

func pairs(reply *apiv1.GetExperimentResponse) [][2]string {
	x := reply.GetExperiment()
	return [][2]string{
		{"ID", strconv.Itoa(int(x.GetId()))},
		{"Name", x.GetName()},
		{"Description", x.GetDescription()},
		{"User", x.GetUsername()},
		{"Project", x.GetWorkspaceName() + " / " + x.GetProjectName()},
		{"Labels", strings.Join(x.GetLabels(), ", ")},
		{"State", show.ExperimentState(x)},
		{"Reason", cmp.Or(x.GetReason(), reply.GetFailure())},
		{"Queue", command.DescribeQueue(reply.GetQueue())},
		{"Slots held by", command.DescribeHolders(reply.GetQueue())},
		{"Deletion", describeDeletions(reply.GetDeletions())},
		{"Progress", formatPercent(x.GetProgress())},
		{"Searcher", x.GetSearcherType()},
		{"Trials", strconv.Itoa(int(x.GetNumTrials()))},
		{"Best", describeBest(x)},
		{"Checkpoints", show.Checkpoints(x.GetCheckpointCount(), x.GetCheckpointSize())},
		{"Pool", x.GetResourcePool()},
		{"Used", show.Usage(reply.GetUsage())},
		{"Forked from", describeParent(x)},
		{"Started", show.Time(x.GetStartTime())},
		{"Ended", show.Time(x.GetEndTime())},
		{"Archived", show.YesNo(x.GetArchived())},
		{"Job", x.GetJobId()},
	}
}

func lastLines(reply *apiv1.GetExperimentResponse) (title string, lines []string) {
	return fmt.Sprintf("Last lines of trial %d:", reply.GetFailedTrial()), reply.GetLastLines()
}

// describeDeletions returns the tasks that delete files of the experiment, and for each that
// failed the reason and the time of the next attempt.
func describeDeletions(waiting []*apiv1.CheckpointDeletion) string {
	var parts []string
	for _, d := range waiting {
		if d.GetTries() == 0 {
			parts = append(parts, "waits for task "+d.GetTaskId())
			continue
		}
		parts = append(parts, fmt.Sprintf("task %s failed %d times (%s), next attempt at %s", d.GetTaskId(), d.GetTries(), d.GetFailure(), show.Time(d.GetDueTime())))
	}
	return strings.Join(parts, "; ")
}

func describeBest(x *apiv1.Experiment) string {
	if x.BestTrialId == nil {
		return ""
	}
	return fmt.Sprintf("%s of trial %d", formatBest(x), x.GetBestTrialId())
}

func describeParent(x *apiv1.Experiment) string {
	if x.GetForkedFrom() == nil {
		return ""
	}
	return fmt.Sprintf("experiment %d", x.GetForkedFrom().GetValue())
}
