package resources

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type usageOptions struct {
	command.Remote

	By, Since string

	group       apiv1.ResourceUsageGroup
	from, until time.Time
}

func newUsage(s *term.Streams) *cobra.Command {
	o := &usageOptions{}
	c := command.NewList(s, o, command.List[*usageOptions, *apiv1.ResourceUsage]{
		Fetch: func(ctx context.Context, o *usageOptions, master *client.Client) ([]*apiv1.ResourceUsage, error) {
			return master.ResourceUsage(ctx, o.group, o.from, o.until)
		},
		Reply: func(list []*apiv1.ResourceUsage) any { return &apiv1.ResourceUsageResponse{Usage: list} },
		Columns: []command.Column[*apiv1.ResourceUsage]{
			{Head: ">ID", Value: func(x *apiv1.ResourceUsage) any { return usageID(x) }},
			{Head: "NAME", Rank: 1, Shortest: 16, Value: func(x *apiv1.ResourceUsage) any { return usageName(x) }},
			{Head: ">SLOT-HOURS", Rank: 1, Value: func(x *apiv1.ResourceUsage) any { return hours(x.GetSlotHours()) }},
			{Head: ">COST", Rank: 2, Value: func(x *apiv1.ResourceUsage) any { return show.Costs(x.GetCosts()) }},
			{Head: ">WITHOUT PRICE", Rank: 3, Value: func(x *apiv1.ResourceUsage) any { return hours(x.GetUnpricedSlotHours()) }},
		},
		None: "No slots were used in this period.",
	}, &cobra.Command{
		Use: "usage", Short: "Show slot-hours and cost by experiment, project, user or pool",
		Long: `Show the slot-hours of a period and their cost, largest first. The cost is based on the
pool's slot_price at the time; slot-hours in pools without a price are in the last
column. Commands and deleted experiments are summed up in a line without an ID.`,
		Example: "  det-deploy resources usage --by project\n  det-deploy resources usage --by user --since 2026-01-01T00:00:00Z --output json",
	})
	c.Flags().StringVar(&o.By, "by", "experiment", "group by experiment, project, workspace, user or pool")
	command.CompleteWords(c, "by", "experiment", "project", "workspace", "user", "pool")
	c.Flags().StringVar(&o.Since, "since", "30d", "show usage since a duration such as 30d, a date, or a time such as 2006-01-02T15:04:05Z")
	return c
}

// Validate parses --by and --since.
func (o *usageOptions) Validate() (err error) {
	o.group = apiv1.ResourceUsageGroup(apiv1.ResourceUsageGroup_value["RESOURCE_USAGE_GROUP_"+strings.ToUpper(o.By)])
	if o.group == apiv1.ResourceUsageGroup_RESOURCE_USAGE_GROUP_UNSPECIFIED {
		return usage.Errorf("--by %s: must be experiment, project, workspace, user or pool", o.By)
	}
	o.until = time.Now()
	o.from, err = usage.Since(cmp.Or(o.Since, "30d"), o.until)
	return err
}

// usageName returns the name of what used the slots.
func usageName(u *apiv1.ResourceUsage) string {
	if u.GetId() == 0 && u.GetName() == "" {
		return "(tasks, deleted experiments)"
	}
	return u.GetName()
}

// usageID returns the ID of what used the slots, or "" if it has none.
func usageID(u *apiv1.ResourceUsage) any {
	if u.GetId() == 0 {
		return ""
	}
	return u.GetId()
}

func hours(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", n)
}
