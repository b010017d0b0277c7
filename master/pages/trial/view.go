package trial

import (
	"net/url"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/hparam"
	"github.com/det-deploy/det-deploy/master/pages/logview"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// head is the data of the head of each page of a trial.
type head struct {
	ID, Experiment int32
	State          string
	Tabs           []ui.Link
}

func newHead(t *apiv1.Trial, current string) head {
	h := head{ID: t.GetId(), Experiment: t.GetExperimentId(), State: t.ShownStatus()}
	for _, tab := range []struct{ tail, text string }{{"", "Overview"}, {"/logs", "Log"}, {"/system", "System"}} {
		h.Tabs = append(h.Tabs, ui.Link{Text: tab.text, Href: address(t) + tab.tail, Current: tab.tail == current})
	}
	return h
}

// view is the data of the page of a trial.
type view struct {
	head

	T         *apiv1.Trial
	Name      string // the experiment's
	Reason    string
	LastLines []string
	CanKill   bool
	Ran       time.Duration
	Metric    string
	// Best is the searcher's metric of the best validation, and Latest that of the latest.
	Best, Latest *value
	Hparams      []pair
	Chart        curve.Chart
	Checkpoints  []checkpoint
	Paging       ui.Paging
}

// value is a metric at a step.
type value struct {
	Number  float64
	Batches int32
}

// pair is a hyperparameter.
type pair struct{ Name, Text string }

// checkpoint is a row of the table of checkpoints.
type checkpoint struct {
	UUID, State string
	Batches     string
	Metric      *float64
	At          time.Time
	Size        int64
	Files       int
	// Download is its address, or "" if it has no files.
	Download string
}

func newView(by *apiv1.User, params url.Values, reply *apiv1.GetTrialResponse, x *apiv1.GetExperimentResponse, list *apiv1.GetTrialCheckpointsResponse) view {
	t := reply.GetTrial()
	metric := x.GetExperiment().GetSearcherMetric()
	out := view{
		head: newHead(t, ""), T: t, Name: x.GetExperiment().GetName(), Reason: t.GetReason(), LastLines: logview.ReadableLines(reply.GetLastLines()), Metric: metric,
		CanKill: t.GetEndTime() == nil && t.ExternalId == nil && (by.GetAdmin() || by.GetId() == x.GetExperiment().GetUserId()),
		Ran:     time.Duration(t.GetWallClockTime().GetValue() * float64(time.Second)).Round(time.Second),
		Best:    valueOf(t.GetBestValidation(), metric), Latest: valueOf(t.GetLatestValidation(), metric),
		Hparams: pairsOf(t), Chart: newChart(params, t, metric),
		Paging: ui.Paging{Offset: ui.Offset(params), Limit: checkpointsOfPage, Total: int(list.GetPagination().GetTotal())},
	}
	for _, c := range list.GetCheckpoints() {
		out.Checkpoints = append(out.Checkpoints, newCheckpoint(t, c))
	}
	return out
}

func valueOf(m *apiv1.MetricsWorkload, metric string) *value {
	n, found := m.GetMetrics().GetAvgMetrics().GetFields()[metric]
	if !found {
		return nil
	}
	return &value{curve.NumberOf(n), m.GetTotalBatches()}
}

// mostPairs is the number of hyperparameters on the page.
const mostPairs = 200

func pairsOf(t *apiv1.Trial) []pair {
	var all []pair
	for name, v := range hparam.Flatten(t.GetHparams()) {
		all = append(all, pair{name, hparam.Text(v)})
	}
	slices.SortFunc(all, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	return all[:min(len(all), mostPairs)]
}

func newCheckpoint(t *apiv1.Trial, c *apiv1.Checkpoint) checkpoint {
	out := checkpoint{UUID: c.GetUuid(), State: apiv1.StateWord(c.GetState().String()), At: c.GetReportTime().AsTime(), Files: len(c.GetResources())}
	for _, size := range c.GetResources() {
		out.Size += size
	}
	out.Batches = hparam.Text(c.GetMetadata().GetFields()["steps_completed"])
	if m := c.GetTraining().GetSearcherMetric(); m != nil {
		out.Metric = new(m.GetValue())
	}
	switch {
	case c.GetDeletion() != nil:
		out.State = "deleting"
	case out.State == "completed" || out.State == "partially_deleted":
		out.Download = address(t) + "/checkpoints/" + url.PathEscape(c.GetUuid())
	}
	return out
}

// newChart returns the chart of the groups of a metric.
func newChart(q url.Values, t *apiv1.Trial, searcher string) curve.Chart {
	c := curve.Chart{Page: address(t), Data: address(t) + "/curves", Look: curve.ReadLook(q), Metrics: namesOf(t)}
	c.Metric = choose(c.Metrics, q.Get("metric"), searcher)
	c.Title = c.Metric + " by batches"
	return c
}

// namesOf returns the names of a trial's metrics, whatever their groups: those of validations first.
func namesOf(t *apiv1.Trial) []string {
	var names []string
	for _, m := range curve.MetricsOf([]*apiv1.Trial{t}) {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

func choose(names []string, wanted, searcher string) string {
	if wanted != "" {
		return wanted
	}
	if len(names) == 0 || slices.Contains(names, searcher) {
		return searcher
	}
	return names[0]
}
