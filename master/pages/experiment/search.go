package experiment

import (
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// search is the data of the page of the search.
type search struct {
	head

	Searcher, Metric string
	Rungs            []rung
	Events           []event
	Paging           ui.Paging
}

// rung is a length at which trials are compared.
type rung struct {
	Bracket, Rung int32
	// Length is the longest of its trials when they reached it.
	Length float64
	// Reached trials are in it, Continued of them were allowed to go on, and Failed ended before they reached it.
	Reached, Continued, Failed int
	// Best are the first of its trials; More is the number of others.
	Best []*apiv1.SearchPlace
	More int
}

// event is a line of the timeline.
type event struct {
	At         time.Time
	User, Text string
	Trial      int32
}

const (
	eventsOfPage = 100
	placesOfRung = 8
)

func serveSearch(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	id := reply.GetExperiment().GetId()
	skipped := ui.Offset(v.URL.Query())
	// The newest are last in the API.
	history, err := v.API.HistoryPage(v.Context(), id, client.Page{Offset: -eventsOfPage, Limit: eventsOfPage}, true)
	if err != nil {
		return err
	}
	rungs, total := history.GetRungs(), int(history.GetPagination().GetTotal())
	if skipped > 0 {
		from, to := partFromEnd(total, skipped)
		if history, err = v.API.HistoryPage(v.Context(), id, client.Page{Offset: from, Limit: max(to-from, 1)}, false); err != nil {
			return err
		}
	}
	return v.Show(searchPage, title(reply), newSearch(reply, rungs, history.GetEvents(), ui.Paging{Offset: skipped, Limit: eventsOfPage, Total: total}))
}

// partFromEnd returns the part of a list that is a page of its reverse.
func partFromEnd(total, skipped int) (from, to int) {
	to = max(total-skipped, 0)
	return max(to-eventsOfPage, 0), to
}

func newSearch(reply *apiv1.GetExperimentResponse, rungs []*apiv1.SearchRung, events []*apiv1.ExperimentEvent, paging ui.Paging) search {
	x := reply.GetExperiment()
	s := search{head: newHead(reply, "/search"), Searcher: x.GetSearcherType(), Metric: x.GetSearcherMetric(), Paging: paging}
	for _, r := range rungs {
		s.Rungs = append(s.Rungs, newRung(r))
	}
	for i := len(events) - 1; i >= 0; i-- {
		e := events[i]
		s.Events = append(s.Events, event{At: e.GetTime().AsTime(), User: e.GetUsername(), Text: e.GetText(), Trial: e.GetTrialId()})
	}
	return s
}

func newRung(r *apiv1.SearchRung) rung {
	out := rung{Bracket: r.GetBracket() + 1, Rung: r.GetRung() + 1}
	for _, p := range r.GetPlaces() {
		if p.Metric == nil {
			out.Failed++
			continue
		}
		out.Reached++
		out.Length = max(out.Length, p.GetLength())
		if p.GetGoesOn() {
			out.Continued++
		}
		if len(out.Best) < placesOfRung {
			out.Best = append(out.Best, p)
		}
	}
	out.More = out.Reached - len(out.Best)
	return out
}
