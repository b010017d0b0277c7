package experiments

import (
	"fmt"
	"slices"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// view is what the list shows.
type view struct {
	Query    query
	Filtered bool
	Rows     []row
	Paging   ui.Paging
	// States, Labels, Workspaces and Projects are the choices of the filters.
	States, Labels       []option
	Workspaces, Projects []option
}

// option is a choice of a filter.
type option struct {
	Value, Text string
	Chosen      bool
}

// row is an experiment in the list.
type row struct {
	ID          int32
	Name, State string
	Reason      string
	Labels      []string
	User, Pool  string
	Project     string
	Searcher    string
	Trials      int32
	// Progress is nil for an experiment that has ended.
	Progress *float64
	Metric   string
	Best     *float64
	Started  time.Time
	// Took is set once it has ended.
	Took     time.Duration
	Archived bool
}

// mostOptions is the number of choices that a filter offers.
const mostOptions = 200

func newView(q query, list *apiv1.GetExperimentsResponse, c choices) view {
	v := view{Query: q, Filtered: q.isFiltered(), Paging: ui.Paging{Offset: q.Offset, Limit: limit, Total: int(list.GetPagination().GetTotal())}}
	for _, x := range list.GetExperiments() {
		v.Rows = append(v.Rows, newRow(x))
	}
	for _, s := range []string{unended, "queued", "running", "paused", "succeeded", "failed", "killed"} {
		text := s
		if s == unended {
			text = "not ended"
		}
		v.States = append(v.States, option{s, text, s == q.State})
	}
	for _, l := range c.labels {
		v.Labels = append(v.Labels, option{l, l, l == q.Label})
	}
	for _, w := range c.workspaces {
		v.Workspaces = append(v.Workspaces, option{fmt.Sprint(w.GetId()), w.GetName(), w.GetId() == q.Workspace})
	}
	for _, p := range c.projects {
		v.Projects = append(v.Projects, option{fmt.Sprint(p.GetId()), p.GetName(), p.GetId() == q.Project})
	}
	v.Labels = bounded(v.Labels, q.Label, q.Label)
	v.Workspaces = bounded(v.Workspaces, idOrNone(q.Workspace), "workspace "+fmt.Sprint(q.Workspace))
	v.Projects = bounded(v.Projects, idOrNone(q.Project), "project "+fmt.Sprint(q.Project))
	return v
}

// bounded returns at most mostOptions choices, which include the chosen one.
func bounded(all []option, chosen, text string) []option {
	all = all[:min(len(all), mostOptions)]
	if chosen == "" || slices.ContainsFunc(all, func(o option) bool { return o.Chosen }) {
		return all
	}
	return append(all, option{chosen, text, true})
}

func idOrNone(id int32) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprint(id)
}

func newRow(x *apiv1.Experiment) row {
	r := row{
		ID: x.GetId(), Name: x.GetName(), State: x.ShownStatus(), Reason: x.GetReason(), Labels: x.GetLabels(), User: x.GetUsername(),
		Pool: x.GetResourcePool(), Project: x.GetWorkspaceName() + " / " + x.GetProjectName(), Searcher: x.GetSearcherType(),
		Trials: x.GetNumTrials(), Metric: x.GetSearcherMetric(), Started: x.GetStartTime().AsTime(), Archived: x.GetArchived(),
	}
	if best := x.GetBestTrialSearcherMetric(); best != nil {
		r.Best = new(best.GetValue())
	}
	if x.GetEndTime() != nil {
		r.Took = x.GetEndTime().AsTime().Sub(r.Started)
	} else if x.GetProgress() != nil {
		r.Progress = new(x.GetProgress().GetValue())
	}
	return r
}
