package pool

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type listOptions struct {
	*term.Streams
	contexts.Target

	Output term.Format
}

func newList(s *term.Streams, run func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Streams: s}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the resource pools, with what they have and who waits",
		Example: "  det-deploy pool list",
		Args:    usage.Args(),
		RunE:    func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
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
	pools, err := master.Pools(ctx)
	if err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintMessage(&apiv1.GetResourcePoolsResponse{ResourcePools: pools})
	}
	t := term.NewTable("POOL", "TYPE", ">AGENTS", "SLOTS", "DEVICE", "AUXILIARY", ">RUNNING", ">WAITING", "DEFAULT FOR", "NOTE")
	for _, p := range pools {
		t.Row(p.GetName(), enumWord(p.GetType(), "RESOURCE_POOL_TYPE_"), p.GetNumAgents(),
			fmt.Sprintf("%d/%d", p.GetSlotsUsed(), p.GetSlotsAvailable()), enumWord(p.GetSlotType(), "TYPE_"),
			fmt.Sprintf("%d/%d", p.GetAuxContainersRunning(), p.GetAuxContainerCapacity()),
			p.GetStats().GetScheduledCount(), p.GetStats().GetQueuedCount(), describeDefaults(p), note(p.GetMachines()))
	}
	return o.PrintTable(t)
}

// note is what there is to say of machines that come or cannot come.
func note(m *apiv1.PoolMachines) string {
	var out []string
	if n := m.GetLaunching() + m.GetStarting(); n > 0 {
		out = append(out, fmt.Sprintf("%d starting", n))
	}
	for _, r := range m.GetRefusals() {
		out = append(out, "refused: "+r.GetKind())
	}
	if len(m.GetProblems()) > 0 {
		out = append(out, "see pool describe")
	}
	return strings.Join(out, ", ")
}
