package task

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// showPreview prints where the task of a request would be placed, or why it would wait.
func (o *runOptions) showPreview(ctx context.Context, master *client.Client, req *apiv1.LaunchCommandRequest) error {
	reply, err := master.Preview(ctx, req)
	if ctx.Err() != nil {
		return exit.Followed(ctx, err)
	}
	if err != nil {
		return exit.With(exit.NotTheTask, err)
	}
	for _, w := range reply.GetWarnings() {
		o.Notef("warning: %s", term.Harmless(w))
	}
	if len(req.GetAfter()) > 0 {
		o.Notef("The task is queued when the tasks of --after have ended. This is as if they had.")
	}
	return o.AnswerPairs(reply, previewPairs(reply)...)
}

func previewPairs(r *apiv1.PreviewCommandResponse) [][2]string {
	p := r.GetPlacement()
	return [][2]string{
		{"Now", describeNow(r)},
		{"Agents", describeParts(p.GetParts())},
		{"Would preempt", command.DescribeJobs(p.GetPreempts(), p.GetMorePreempts())},
		{"Queue", command.DescribeQueue(p.GetQueue())},
		{"Slots held by", command.DescribeHolders(p.GetQueue())},
		{"Machines", describeLaunches(p)},
		{"Pool", r.GetResourcePool()},
		{"Slots", strconv.Itoa(int(r.GetSlots()))},
		{"Priority", describePriority(p)},
		{"Slot price", show.SlotPrice(r.GetSlotPrice())},
		{"Price", describePrice(r)},
	}
}

// describeNow returns whether the task would start now, or the reason why not.
func describeNow(r *apiv1.PreviewCommandResponse) string {
	p := r.GetPlacement()
	switch {
	case p == nil:
		return "valid; Kubernetes decides when and where it starts"
	case len(p.GetParts()) > 0:
		return "starts"
	case r.GetExceeds():
		return "waits: " + p.GetReason() + "; there are fewer slots than requested"
	}
	return "waits: " + p.GetReason()
}

func describeParts(parts []*apiv1.PlacedPart) string {
	var texts []string
	for _, p := range parts {
		text := p.GetAgentId()
		if len(p.GetSlots()) > 0 {
			text += fmt.Sprintf(" (%s)", term.Count(len(p.GetSlots()), "slot"))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func describeLaunches(p *apiv1.CommandPlacement) string {
	if !p.GetLaunches() {
		return ""
	}
	return "the pool may launch machines for it"
}

func describePriority(p *apiv1.CommandPlacement) string {
	if p == nil {
		return ""
	}
	return strconv.Itoa(int(p.GetPriority()))
}

// describePrice returns the price of all slots, if there are several.
func describePrice(r *apiv1.PreviewCommandResponse) string {
	price, slots := r.GetSlotPrice(), float64(r.GetSlots())
	if price == nil || slots < 2 {
		return ""
	}
	total := &apiv1.SlotPrice{PerHour: slots * price.GetPerHour(), Currency: price.GetCurrency()}
	if price.SpotPerHour != nil {
		total.SpotPerHour = new(slots * price.GetSpotPerHour())
	}
	return show.SlotPrice(total)
}
