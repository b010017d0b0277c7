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
	c := command.NewRemote(s, o, runList, &cobra.Command{
		Use: "list", Short: "List the jobs that wait and run, first in line first", Example: "  det-deploy job list --pool gpu",
	})
	c.Flags().StringVar(&o.Pool, "pool", "", "show only this resource pool")
	return c
}

func runList(ctx context.Context, o *listOptions, master *client.Client) error {
	jobs, err := master.Jobs(ctx, o.Pool)
	if err != nil {
		return err
	}
	reply := &apiv1.GetJobsV2Response{}
	t := term.NewTable("JOB", "NAME", "TYPE", "USER", "POOL", "STATE", ">AHEAD", "SLOTS", ">PRIORITY", "SUBMITTED")
	for _, j := range jobs {
		reply.Jobs = append(reply.Jobs, &apiv1.RBACJob{Full: j})
		t.Row(j.GetJobId(), j.GetName(), show.Enum(j.GetType(), "TYPE_"), j.GetUsername(),
			j.GetResourcePool(), show.Enum(j.GetSummary().GetState(), "STATE_"), j.GetSummary().GetJobsAhead(),
			fmt.Sprintf("%d/%d", j.GetAllocatedSlots(), j.GetRequestedSlots()), priority(j), show.Time(j.GetSubmissionTime()))
	}
	return o.AnswerTable(reply, t)
}

func priority(j *apiv1.Job) string {
	if j.Priority == nil {
		return ""
	}
	return strconv.Itoa(int(j.GetPriority()))
}
