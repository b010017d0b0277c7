package checkpoint

import (
	"context"
	"maps"
	"slices"
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
	return command.NewDescribe(s, command.Description[*apiv1.Checkpoint]{Fetch: fetchCheckpoint, Pairs: pairs, Names: client.Checkpoints}, &cobra.Command{
		Use: "describe CHECKPOINT", Short: "Show a checkpoint",
		Example: "  det-deploy checkpoint describe 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a",
	})
}

func fetchCheckpoint(ctx context.Context, master *client.Client, id string) (*apiv1.Checkpoint, error) {
	return master.Checkpoint(ctx, id)
}

func pairs(c *apiv1.Checkpoint) [][2]string {
	return [][2]string{
		{"ID", c.GetUuid()},
		{"Experiment", number(c.GetTraining().GetExperimentId().GetValue())},
		{"Trial", number(c.GetTraining().GetTrialId().GetValue())},
		{"Steps", strconv.FormatInt(stepsOf(c), 10)},
		{"State", stateOf(c)},
		{"Reported", show.Time(c.GetReportTime())},
		{"Searcher metric", metric(c)},
		{"Storage", storage(c)},
		{"Bytes", strconv.FormatInt(bytesOf(c), 10)},
		{"Files", strings.Join(slices.Sorted(maps.Keys(c.GetResources())), ", ")},
		{"Deletion task", c.GetDeletion().GetTaskId()},
		{"Deletion failed", c.GetDeletion().GetFailure()},
	}
}

func number(n int32) string { return strconv.Itoa(int(n)) }

// metric returns the value of the searcher metric, or "" if there is none.
func metric(c *apiv1.Checkpoint) string {
	if c.GetTraining().GetSearcherMetric() == nil {
		return ""
	}
	return strconv.FormatFloat(c.GetTraining().GetSearcherMetric().GetValue(), 'g', -1, 64)
}

// storage returns the type and location of the experiment's checkpoint storage.
func storage(c *apiv1.Checkpoint) string {
	place := c.GetTraining().GetExperimentConfig().GetFields()["checkpoint_storage"].GetStructValue().GetFields()
	for _, key := range []string{"bucket", "host_path", "container_path", "container"} {
		if where := place[key].GetStringValue(); where != "" {
			return place["type"].GetStringValue() + " " + where
		}
	}
	return place["type"].GetStringValue()
}
