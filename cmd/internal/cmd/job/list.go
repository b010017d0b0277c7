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
		Columns: []command.Column[*apiv1.Job]{
			{Head: "ID", Value: func(x *apiv1.Job) any { return term.ID(x.GetJobId()) }},
			{Head: "NAME", Rank: 2, Shortest: 16, Value: func(x *apiv1.Job) any { return x.GetName() }},
			{Head: "TYPE", Rank: 7, Value: func(x *apiv1.Job) any { return show.Enum(x.GetType(), "TYPE_") }},
			{Head: "USER", Rank: 4, Shortest: 8, Value: func(x *apiv1.Job) any { return x.GetUsername() }},
			{Head: "POOL", Rank: 6, Shortest: 8, Value: func(x *apiv1.Job) any { return x.GetResourcePool() }},
			{Head: "STATE", Rank: 1, Value: func(x *apiv1.Job) any { return show.JobState(x) }},
			{Head: ">AHEAD", Rank: 3, Value: func(x *apiv1.Job) any { return x.GetSummary().GetJobsAhead() }},
			{Head: "SLOTS", Rank: 2, Value: func(x *apiv1.Job) any { return fmt.Sprintf("%d/%d", x.GetAllocatedSlots(), x.GetRequestedSlots()) }},
			{Head: ">PRIORITY", Rank: 8, Value: func(x *apiv1.Job) any { return priority(x) }},
			{Head: "AGE", Rank: 5, Value: func(x *apiv1.Job) any { return show.When(x.GetSubmissionTime()) }},
		},
		Filters: []command.Filter{{Column: "STATE", Words: []string{"queued", "scheduled"}}, {Column: "USER", Noun: client.Users}},
		None:    "No jobs wait or run.",
	}, &cobra.Command{
		Use: "list", Short: "List waiting and running jobs in queue order", Example: "  det-deploy job list --pool gpu",
	})
	c.Flags().StringVar(&o.Pool, "pool", "", "show only this pool")
	o.CompleteFlag(c, "pool", client.Pools)
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
