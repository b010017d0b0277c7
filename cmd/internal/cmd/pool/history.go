package pool

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type historyOptions struct {
	*term.Streams
	contexts.Target

	Name   string
	Output term.Format
}

func newHistory(s *term.Streams, run func(context.Context, *historyOptions) error) *cobra.Command {
	o := &historyOptions{Streams: s}
	c := &cobra.Command{
		Use:     "history POOL",
		Short:   "List the machines that were launched for a pool, and why they went",
		Example: "  det-deploy pool history gpu\n  det-deploy pool history gpu --output json",
		Args:    usage.Args("POOL"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(c.Context(), o)
		},
	}
	o.AddFlag(c.Flags())
	o.Output.AddFlag(c.Flags())
	return c
}

func runHistory(ctx context.Context, o *historyOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	machines, err := master.PoolMachines(ctx, o.Name)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(&apiv1.GetMachinesResponse{Machines: machines})
	}
	t := term.NewTable("MACHINE", "STATE", "TYPE", "ZONE", "PRICE", "START", "JOINED", "END", "REASON")
	for _, m := range machines {
		t.Row(m.GetId(), m.GetState(), m.GetInstanceType(), m.GetZone(), m.GetPrice(),
			moment(m.GetLaunchTime()), moment(m.GetJoinTime()), moment(m.GetEndTime()), m.GetReason())
	}
	return o.PrintTable(t)
}

// moment is a time in the table; it is empty for none.
func moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Local().Format(time.DateTime)
}
