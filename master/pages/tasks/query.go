package tasks

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Query is the part of the list that the parameters of an address select.
type Query struct {
	// State is a status, "open" or "ended"; empty selects all.
	State             string
	User, Pool, Label string
	// Since is the age of the oldest end.
	Since string
	// After is the position of the page.
	After string
}

// age is a choice of Query.Since.
type age struct {
	value, text string
	length      time.Duration
}

var ages = []age{
	{"", "last day", 24 * time.Hour},
	{"7d", "last 7 days", 7 * 24 * time.Hour},
	{"30d", "last 30 days", 30 * 24 * time.Hour},
	{"all", "any time", 0},
}

// choice is a choice of Query.State.
type choice struct{ value, text string }

func stateChoices() []choice {
	list := []choice{{"", "all"}, {"open", "not ended"}, {"ended", "ended"}}
	for _, s := range slices.Concat(apiv1.OpenStatuses(), apiv1.EndStatuses()) {
		list = append(list, choice{string(s), string(s)})
	}
	return list
}

// parseQuery reads the parameters of an address. It ignores values that no form sends.
func parseQuery(in url.Values) Query {
	q := Query{User: strings.TrimSpace(in.Get("user")), Pool: in.Get("pool"), Label: strings.TrimSpace(in.Get("label")), After: in.Get("after")}
	if slices.ContainsFunc(stateChoices(), func(c choice) bool { return c.value == in.Get("state") }) {
		q.State = in.Get("state")
	}
	if slices.ContainsFunc(ages, func(a age) bool { return a.value == in.Get("since") }) {
		q.Since = in.Get("since")
	}
	return q
}

// IsFiltered reports whether the query leaves out tasks.
func (q Query) IsFiltered() bool {
	return q.State != "" || q.User != "" || q.Pool != "" || q.Label != ""
}

// selection returns the query of the API.
func (q Query) selection(now time.Time) client.TaskQuery {
	out := client.TaskQuery{States: q.states(), Limit: pageRows}
	for _, f := range []struct {
		value string
		list  *[]string
	}{{q.User, &out.Users}, {q.Pool, &out.Pools}, {q.Label, &out.Labels}} {
		if f.value != "" {
			*f.list = []string{f.value}
		}
	}
	for _, a := range ages {
		if a.value == q.Since && a.length > 0 {
			out.Since = now.Add(-a.length)
		}
	}
	return out
}

func (q Query) states() []string {
	var of []apiv1.Status
	switch q.State {
	case "":
		return nil
	case "open":
		of = apiv1.OpenStatuses()
	case "ended":
		of = apiv1.EndStatuses()
	default:
		return []string{q.State}
	}
	var out []string
	for _, s := range of {
		out = append(out, string(s))
	}
	return out
}
