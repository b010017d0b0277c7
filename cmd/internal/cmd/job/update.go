package job

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type updateOptions struct {
	command.Remote

	Priority int
	Pool     string
	AheadOf  string
	BehindOf string
	MaxSlots int32
}

func newUpdate(s *term.Streams) *cobra.Command {
	o := &updateOptions{}
	o.Names = client.Jobs
	c := command.NewRemote(s, o, runUpdate, &cobra.Command{
		Use:   "update JOB",
		Short: "Change a job's priority, pool, slot limit or queue position",
		Example: `  det-deploy job update 7c2e --priority 10
  det-deploy job update 7c2e --ahead-of 91aa
  det-deploy job update 7c2e --max-slots 4`,
	})
	c.Flags().IntVar(&o.Priority, "priority", 0, "priority from 1 to 99; on agents 1 is served first, on Kubernetes 99")
	c.Flags().StringVar(&o.Pool, "pool", "", "resource pool to move the job to")
	c.Flags().StringVar(&o.AheadOf, "ahead-of", "", "job to move ahead of")
	c.Flags().StringVar(&o.BehindOf, "behind-of", "", "job to move behind")
	c.Flags().Int32Var(&o.MaxSlots, "max-slots", 0, "maximum slots of the job; 0 is unlimited")
	o.CompleteFlag(c, "pool", client.Pools)
	o.CompleteFlag(c, "ahead-of", client.Jobs)
	o.CompleteFlag(c, "behind-of", client.Jobs)
	return c
}

func (o *updateOptions) Validate() error {
	n := 0
	for _, flag := range []string{"priority", "pool", "ahead-of", "behind-of", "max-slots"} {
		if o.Given(flag) {
			n++
		}
	}
	if n != 1 {
		return usage.Errorf("use exactly one of --priority, --pool, --max-slots, --ahead-of and --behind-of")
	}
	if o.Given("priority") && (o.Priority < 1 || o.Priority > 99) {
		return usage.Errorf("--priority %d: must be from 1 to 99", o.Priority)
	}
	if o.MaxSlots < 0 {
		return usage.Errorf("--max-slots %d: must be 0 or more", o.MaxSlots)
	}
	return nil
}

// change returns the update that the flags request.
func (o *updateOptions) change() *apiv1.QueueControl {
	q := &apiv1.QueueControl{JobId: o.Args[0]}
	switch {
	case o.Given("priority"):
		n := int32(o.Priority) // Validate has checked that it is from 1 to 99
		q.Priority = &n
	case o.Given("pool"):
		q.ResourcePool = &o.Pool
	case o.Given("ahead-of"):
		q.AheadOf = &o.AheadOf
	case o.Given("behind-of"):
		q.BehindOf = &o.BehindOf
	case o.Given("max-slots"):
		q.MaxSlots = &o.MaxSlots
	}
	return q
}

func runUpdate(ctx context.Context, o *updateOptions, master *client.Client) error {
	if err := master.UpdateJob(ctx, o.change()); err != nil {
		return err
	}
	if o.Output.IsText() {
		o.Notef("Updated job %s.", o.Args[0])
		return nil
	}
	return o.printJob(ctx, master)
}

// printJob prints the updated job. If the job has ended in the meantime, it prints only its ID.
func (o *updateOptions) printJob(ctx context.Context, master *client.Client) error {
	jobs, err := master.Jobs(ctx, "")
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.GetJobId() == o.Args[0] {
			return o.AnswerJSON(j)
		}
	}
	return o.AnswerJSON(&apiv1.Job{JobId: o.Args[0]})
}
