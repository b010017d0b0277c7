package pools

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// switching is a change of what may start on a machine or on a slot of it.
type switching struct {
	verb string
	// agent and slot do it.
	agent func(ctx context.Context, api *client.Client, id string) error
	slot  func(ctx context.Context, api *client.Client, id, slot string) error
	// done is the message afterwards.
	done string
}

func switchings() []switching {
	disable := func(drain bool) (func(context.Context, *client.Client, string) error, func(context.Context, *client.Client, string, string) error) {
		return func(ctx context.Context, api *client.Client, id string) error {
				_, err := api.DisableAgent(ctx, id, drain)
				return err
			}, func(ctx context.Context, api *client.Client, id, slot string) error {
				_, err := api.DisableSlot(ctx, id, slot, drain)
				return err
			}
	}
	drainAgent, drainSlot := disable(true)
	disableAgent, disableSlot := disable(false)
	return []switching{
		{"drain", drainAgent, drainSlot, "%s gets no new tasks. Its running tasks go on."},
		{"disable", disableAgent, disableSlot, "%s is disabled."},
		{"enable", func(ctx context.Context, api *client.Client, id string) error {
			_, err := api.EnableAgent(ctx, id)
			return err
		}, func(ctx context.Context, api *client.Client, id, slot string) error {
			_, err := api.EnableSlot(ctx, id, slot)
			return err
		}, "%s takes tasks again."},
	}
}

// switchPages returns the addresses of the forms of a machine, and the question before running tasks are
// killed.
func switchPages() []ui.Page {
	pages := []ui.Page{
		{Pattern: "GET " + machinePath + "{agent}/disable", Admin: true, Serve: askDisable},
		{Pattern: "GET " + machinePath + "{agent}/slots/{slot}/disable", Admin: true, Serve: askDisable},
	}
	for _, s := range switchings() {
		pages = append(pages,
			ui.Page{Pattern: "POST " + machinePath + "{agent}/" + s.verb, Admin: true, Serve: s.serve},
			ui.Page{Pattern: "POST " + machinePath + "{agent}/slots/{slot}/" + s.verb, Admin: true, Serve: s.serve})
	}
	return pages
}

func (s switching) serve(v *ui.Visit) error {
	id, slot := v.PathValue("agent"), v.PathValue("slot")
	name, err := "Machine "+id, error(nil)
	if slot == "" {
		err = s.agent(v.Context(), v.API, id)
	} else {
		name = "Slot " + slot
		err = s.slot(v.Context(), v.API, id, slot)
	}
	if err != nil {
		return err
	}
	return v.Done(agentPath(id), fmt.Sprintf(s.done, name))
}

func askDisable(v *ui.Visit) error {
	a, err := findAgent(v)
	if err != nil {
		return err
	}
	return v.Confirm(disableQuestion(a, v.PathValue("slot")))
}

// disableQuestion returns the question before a machine, or a slot of it, is disabled.
func disableQuestion(a *apiv1.Agent, slot string) ui.Confirmation {
	name, busy := "machine "+a.GetId(), len(newMachinePage(a, true).Tasks)
	if slot != "" {
		name, busy = "slot "+slot+" of "+name, 0
		for _, s := range a.GetSlots() {
			if s.GetId() == slot && s.GetContainer() != nil {
				busy = 1
			}
		}
	}
	q := ui.Confirmation{Question: "Disable " + name + "?", Button: "Disable", Back: agentPath(a.GetId())}
	switch busy {
	case 0:
		q.Effects = []string{"No task runs on it. No task will start on it until it is enabled."}
	default:
		q.Effects = []string{ui.Count(busy, "task") + " on it will be killed. Drain it instead to let running tasks end by themselves."}
	}
	return q
}
