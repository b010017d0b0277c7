package experiment

import (
	"cmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// head is the data of the head of each page of an experiment.
type head struct {
	ID       int32
	Name     string
	State    string
	Archived bool
	Tabs     []ui.Link
}

// tabs are the pages of an experiment, with the end of their address.
var tabs = []struct{ tail, text string }{
	{"", "Overview"}, {"/hyperparameters", "Hyperparameters"}, {"/search", "Search and history"}, {"/configuration", "Configuration"}, {"/files", "Files"},
}

func newHead(reply *apiv1.GetExperimentResponse, tail string) head {
	x := reply.GetExperiment()
	h := head{ID: x.GetId(), Name: x.GetName(), State: x.ShownStatus(), Archived: x.GetArchived()}
	for _, t := range tabs {
		h.Tabs = append(h.Tabs, ui.Link{Text: t.text, Href: address(x.GetId()) + t.tail, Current: t.tail == tail})
	}
	return h
}

// waiting is why an experiment waits.
type waiting struct {
	Reason string
	// Ahead is the number of jobs before it, or -1 if that is not known.
	Ahead   int32
	Holders []*apiv1.SlotHolder
	More    int32
}

// waitingOf returns nil for an experiment that does not wait.
func waitingOf(reply *apiv1.GetExperimentResponse) *waiting {
	x := reply.GetExperiment()
	if x.GetEndTime() != nil {
		return nil
	}
	w := &waiting{Reason: x.GetReason(), Ahead: -1}
	if q := reply.GetQueue(); q != nil {
		w.Ahead, w.Holders, w.More = q.GetJobsAhead(), q.GetHolders(), q.GetMore()
	}
	if w.Reason == "" && w.Ahead < 0 {
		return nil
	}
	return w
}

// failureOf returns why an experiment has failed, or "".
func failureOf(reply *apiv1.GetExperimentResponse) string {
	x := reply.GetExperiment()
	if x.GetEndTime() == nil && reply.GetFailure() == "" {
		return ""
	}
	return cmp.Or(reply.GetFailure(), x.GetReason())
}
