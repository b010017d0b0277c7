package job

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	*term.Streams
	contexts.Target

	Pool   string
	Output term.Format
}

func newList(s *term.Streams, run func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Streams: s}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the jobs that wait and run, first in line first",
		Example: "  det-deploy job list --pool gpu",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.Pool, "pool", "", "show only this resource pool")
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runList(ctx context.Context, o *listOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	jobs, err := master.Jobs(ctx, o.Pool)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		reply := &apiv1.GetJobsV2Response{}
		for _, j := range jobs {
			reply.Jobs = append(reply.Jobs, &apiv1.RBACJob{Full: j})
		}
		return o.PrintMessage(reply)
	}
	t := term.NewTable("JOB", "NAME", "TYPE", "USER", "POOL", "STATE", ">AHEAD", "SLOTS", ">PRIORITY", "SUBMITTED")
	for _, j := range jobs {
		t.Row(j.GetJobId(), j.GetName(), strings.ToLower(strings.TrimPrefix(j.GetType().String(), "TYPE_")), j.GetUsername(),
			j.GetResourcePool(), stateOf(j), j.GetSummary().GetJobsAhead(),
			fmt.Sprintf("%d/%d", j.GetAllocatedSlots(), j.GetRequestedSlots()), priority(j),
			j.GetSubmissionTime().AsTime().Local().Format(time.DateTime))
	}
	return o.PrintTable(t)
}

func priority(j *apiv1.Job) string {
	if j.Priority == nil {
		return ""
	}
	return strconv.Itoa(int(j.GetPriority()))
}
