package job

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	command.Remote

	Pool string
}

func newList(s *term.Streams) *cobra.Command {
	o := &listOptions{}
	c := command.NewList(s, o, command.List[*listOptions, *apiv1.Job]{
		Fetch: func(ctx context.Context, o *listOptions, master *client.Client) ([]*apiv1.Job, error) {
			return master.Jobs(ctx, o.Pool)
		},
		Reply: replyJobs,
		Heads: []string{"JOB", "NAME", "TYPE", "USER", "POOL", "STATE", ">AHEAD", "SLOTS", ">PRIORITY", "SUBMITTED"},
		Row: func(j *apiv1.Job) []any {
			return []any{
				j.GetJobId(), j.GetName(), show.Enum(j.GetType(), "TYPE_"), j.GetUsername(),
				j.GetResourcePool(), show.Enum(j.GetSummary().GetState(), "STATE_"), j.GetSummary().GetJobsAhead(),
				fmt.Sprintf("%d/%d", j.GetAllocatedSlots(), j.GetRequestedSlots()), priority(j), show.Time(j.GetSubmissionTime()),
			}
		},
	}, &cobra.Command{
		Use: "list", Short: "List waiting and running jobs in queue order", Example: "  det-deploy job list --pool gpu",
	})
	c.Flags().StringVar(&o.Pool, "pool", "", "show only this resource pool")
	return c
}

func replyJobs(jobs []*apiv1.Job) any {
	reply := &apiv1.GetJobsV2Response{}
	for _, j := range jobs {
		reply.Jobs = append(reply.Jobs, &apiv1.RBACJob{Full: j})
	}
	return reply
}

func priority(j *apiv1.Job) string {
	if j.Priority == nil {
		return ""
	}
	return strconv.Itoa(int(j.GetPriority()))
}
