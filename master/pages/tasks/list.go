package tasks

import (
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// pageRows is the number of tasks of a page.
const pageRows = 50

// list is the data of list.html.
type list struct {
	Query
	States, Pools, Ages []option
	Rows                []row
	// Next is the position of the next page, or "".
	Next string
	// Mine is the name of the visitor.
	Mine string
	// Starts are the nouns of the kinds that the visitor may start.
	Starts []string
	// Problem is the error in the filter.
	Problem string
}

// option is a choice of a filter.
type option struct {
	Value, Text string
	Chosen      bool
}

// row is a task of the list.
type row struct {
	*apiv1.Command

	Kind, Path string
	// Took is how long it ran, or has run.
	Took time.Duration
	// Tags are its labels, as key=value.
	Tags []string
}

func showList(v *ui.Visit) error {
	q := parseQuery(v.URL.Query())
	pools, err := v.API.Pools(v.Context())
	if err != nil {
		return err
	}
	page, next, err := v.API.TaskPage(v.Context(), q.selection(v.Now), q.After)
	problem := ""
	if kind := client.KindOf(err); kind == client.Invalid || kind == client.NotFound {
		problem, err = ui.Sentence(err), nil
	}
	if err != nil {
		return err
	}
	l := newList(q, page, pools, v.Now)
	l.Next, l.Problem, l.Mine = next, problem, v.User.GetUsername()
	return v.Show(listPage, "Tasks", l)
}

func newList(q Query, page []*apiv1.Command, pools []*apiv1.ResourcePool, now time.Time) list {
	l := list{Query: q, Pools: []option{{"", "all", q.Pool == ""}}}
	for _, c := range stateChoices() {
		l.States = append(l.States, option{c.value, c.text, c.value == q.State})
	}
	for _, a := range ages {
		l.Ages = append(l.Ages, option{a.value, a.text, a.value == q.Since})
	}
	for _, p := range pools {
		l.Pools = append(l.Pools, option{p.GetName(), p.GetName(), p.GetName() == q.Pool})
	}
	for _, t := range startable {
		l.Starts = append(l.Starts, kinds()[t].Noun)
	}
	for _, c := range page {
		l.Rows = append(l.Rows, row{Command: c, Kind: kindOf(c).Noun, Path: Path(c.GetId()), Took: took(c, now), Tags: tags(c)})
	}
	return l
}

// took returns how long a task ran, or has run; 0 if it has not.
func took(c *apiv1.Command, now time.Time) time.Duration {
	if c.GetAssignedTime() == nil {
		return 0
	}
	if c.GetEndTime() != nil {
		now = c.GetEndTime().AsTime()
	}
	return max(0, now.Sub(c.GetAssignedTime().AsTime()))
}

func tags(c *apiv1.Command) []string {
	var out []string
	for key, value := range c.GetLabels() {
		out = append(out, key+"="+value)
	}
	slices.Sort(out)
	return out
}

// Short returns the beginning of the ID that people read.
func (r row) Short() string {
	first, _, _ := strings.Cut(r.GetId(), "-")
	return first
}
