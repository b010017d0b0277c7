// Package overview is the page of the whole cluster: its problems, running experiments, queue, pools and
// usage.
package overview

import (
	"embed"
	"strconv"

	"github.com/det-deploy/det-deploy/internal/spreadsheet"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed overview.html
var files embed.FS

var overviewPage = ui.MustParse(files, "overview.html")

// Pages returns the page, and the table of its chart.
func Pages() []ui.Page {
	p := &page{}
	return []ui.Page{
		{Pattern: "GET " + ui.Root + "{$}", Nav: "Overview", Serve: p.show},
		{Pattern: "GET " + ui.Root + "overview/slots.csv", Serve: p.sendTable},
	}
}

// page is the page with its memory of the past.
type page struct{ past memory }

const (
	// mostShown is the number of rows of a table of this page.
	mostShown = 10
	// mostReasons is the number of waiting jobs whose reason is shown.
	mostReasons = 10
)

func (p *page) show(v *ui.Visit) error {
	in, err := readFacts(v)
	if err != nil {
		return err
	}
	if in.past, err = p.past.read(v, in.pools); err != nil {
		return err
	}
	return v.Show(overviewPage, "Overview", newView(in, v.Now))
}

// facts are the answers of the API.
type facts struct {
	pools  []*apiv1.ResourcePool
	agents []*apiv1.Agent
	queue  []waiting
	queued int
	// running and failed are the latest experiments of these states.
	running, failed []*apiv1.Experiment
	past            past
}

// waiting is a job that waits.
type waiting struct {
	*apiv1.Job

	Reason string
}

func readFacts(v *ui.Visit) (in facts, err error) {
	ctx := v.Context()
	if in.pools, err = v.API.Pools(ctx); err != nil {
		return in, err
	}
	if in.agents, err = v.API.Agents(ctx); err != nil {
		return in, err
	}
	jobs, total, err := v.API.QueuedJobs(ctx, mostShown)
	if err != nil {
		return in, err
	}
	in.queued = total
	for i, j := range jobs {
		w := waiting{Job: j}
		if i < mostReasons {
			w.Reason = reasonOf(v, j)
		}
		in.queue = append(in.queue, w)
	}
	if in.running, err = v.API.Experiments(ctx, client.ExperimentQuery{States: []string{"ACTIVE"}, Limit: mostShown}); err != nil {
		return in, err
	}
	in.failed, err = v.API.Experiments(ctx, client.ExperimentQuery{States: []string{"ERROR"}, Limit: mostShown})
	return in, err
}

// reasonOf returns why a job waits, or "" if that is not known, as for a job that has ended a moment ago.
func reasonOf(v *ui.Visit, j *apiv1.Job) string {
	if j.GetType() != apiv1.Job_TYPE_EXPERIMENT {
		out, err := v.API.Task(v.Context(), j.GetEntityId())
		if err != nil {
			return ""
		}
		return out.GetReason()
	}
	id, err := strconv.ParseInt(j.GetEntityId(), 10, 32)
	if err != nil {
		return ""
	}
	out, err := v.API.ExperimentDetail(v.Context(), int32(id))
	if err != nil {
		return ""
	}
	return out.GetExperiment().GetReason()
}

// sendTable sends the slots in use by day and pool.
func (p *page) sendTable(v *ui.Visit) error {
	pools, err := v.API.Pools(v.Context())
	if err != nil {
		return err
	}
	known, err := p.past.read(v, pools)
	if err != nil {
		return err
	}
	c := newChart(known.days, known.read)
	w := spreadsheet.NewWriter(v.Attach("slots.csv", "text/csv; charset=utf-8"))
	head := []string{"day"}
	for _, s := range c.Series {
		head = append(head, s.Name)
	}
	w.Write(head...)
	for _, r := range c.Rows {
		w.Write(append([]string{r.Day}, r.Values...)...)
	}
	_ = w.Flush() // the visitor may have left
	return nil
}
