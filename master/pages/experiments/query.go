package experiments

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// query is the filters and the order of the list, which are in its address.
type query struct {
	Name, Label, User, State, Pool string
	Workspace, Project             int32
	Archived                       bool
	Sort                           string
	Offset                         int
}

// orders are the keys by which the list can be sorted, and their names in the API.
var orders = map[string]string{
	"id": "ID", "name": "NAME", "state": "STATE", "progress": "PROGRESS", "trials": "NUM_TRIALS", "best": "SEARCHER_METRIC_VAL",
	"user": "USER", "started": "START_TIME", "ended": "END_TIME", "pool": "RESOURCE_POOL",
}

// byDefault is the order of the list without a parameter: the newest first.
const byDefault = "-id"

// readQuery reads an address. Values that the list does not know are ignored.
func readQuery(v url.Values) query {
	q := query{
		Name: v.Get("q"), Label: v.Get("label"), User: v.Get("user"), State: v.Get("state"), Pool: v.Get("pool"),
		Workspace: number(v.Get("workspace")), Project: number(v.Get("project")), Archived: v.Get("archived") != "",
		Sort: v.Get("sort"), Offset: ui.Offset(v),
	}
	if orders[strings.TrimPrefix(q.Sort, "-")] == "" {
		q.Sort = byDefault
	}
	if len(statesOf(q.State)) == 0 {
		q.State = ""
	}
	return q
}

// number returns a positive number, or 0.
func number(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

// unended is the filter of experiments that have not ended.
const unended = "unended"

// statesOf returns the states of the API for a value of the filter.
func statesOf(status string) []string {
	switch status {
	case "":
		return nil
	case unended:
		return []string{"ACTIVE", "PAUSED", "STOPPING_COMPLETED", "STOPPING_CANCELED", "STOPPING_KILLED", "STOPPING_ERROR"}
	}
	return apiv1.StatesOf(apiv1.Status(status))
}

func (q query) filter() client.ExperimentQuery {
	f := client.ExperimentQuery{Name: q.Name, Workspace: q.Workspace, Project: q.Project, Archived: q.Archived, States: statesOf(q.State)}
	for _, s := range []struct {
		value string
		to    *[]string
	}{{q.Label, &f.Labels}, {q.User, &f.Users}, {q.Pool, &f.Pools}} {
		if s.value != "" {
			*s.to = []string{s.value}
		}
	}
	return f
}

func (q query) page() client.Page {
	return client.Page{
		Sort: orders[strings.TrimPrefix(q.Sort, "-")], Descending: strings.HasPrefix(q.Sort, "-"), Offset: q.Offset, Limit: limit,
	}
}

// isFiltered reports whether the list leaves out any experiments that are not archived.
func (q query) isFiltered() bool {
	return q.Name+q.Label+q.User+q.State+q.Pool != "" || q.Workspace != 0 || q.Project != 0
}
