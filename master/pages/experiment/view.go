package experiment

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/hparam"
	"github.com/det-deploy/det-deploy/master/pages/logview"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// overview is the data of the first page of an experiment.
type overview struct {
	head

	X         *apiv1.Experiment
	Usage     *apiv1.ResourceUsage
	Costs     string
	Waiting   *waiting
	Failure   string
	Failed    int32
	LastLines []string
	Deletions []*apiv1.CheckpointDeletion
	Actions   []action
	Progress  *float64
	Best      *float64
	Ended     bool
	Took      time.Duration
	Chart     curve.Chart
	Hparams   []string
	Trials    []trial
	Paging    ui.Paging
	// ByDefault is the order of the trials without a parameter.
	ByDefault string
}

// trial is a row of the table of trials.
type trial struct {
	ID                int32
	State, Reason     string
	Hparams           []string
	Best, Latest      *float64
	Batches, Restarts int32
	Took              time.Duration
	Checkpoints       int32
	Size              int64
}

// mostHparams is the number of hyperparameters in the table of trials.
const mostHparams = 6

func newOverview(by *apiv1.User, params url.Values, reply *apiv1.GetExperimentResponse, list *apiv1.GetExperimentTrialsResponse, best []*apiv1.Trial) overview {
	x, q := reply.GetExperiment(), readTrialQuery(params, smallerIsBetter(reply.GetConfig()))
	o := overview{
		head: newHead(reply, ""), X: x, Usage: reply.GetUsage(), Costs: ui.Costs(reply.GetUsage()), Waiting: waitingOf(reply), Failure: failureOf(reply),
		Failed: reply.GetFailedTrial(), LastLines: logview.ReadableLines(reply.GetLastLines()), Deletions: reply.GetDeletions(), Actions: actionsOn(x, by),
		Ended: x.GetEndTime() != nil, ByDefault: "best",
		Paging: ui.Paging{Offset: q.offset, Limit: trialsOfPage, Total: int(list.GetPagination().GetTotal())},
		Chart:  newChart(params, reply, append(list.GetTrials(), best...)),
	}
	if o.Ended {
		o.Took = x.GetEndTime().AsTime().Sub(x.GetStartTime().AsTime())
	} else if x.GetProgress() != nil {
		o.Progress = new(x.GetProgress().GetValue())
	}
	if b := x.GetBestTrialSearcherMetric(); b != nil {
		o.Best = new(b.GetValue())
	}
	names := hparam.Varying(reply.GetConfig())
	names = names[:min(len(names), mostHparams)]
	for _, n := range names {
		o.Hparams = append(o.Hparams, n.Name)
	}
	for _, t := range list.GetTrials() {
		o.Trials = append(o.Trials, newTrial(t, names, x.GetSearcherMetric()))
	}
	return o
}

// newChart returns the chart of the best trials.
func newChart(q url.Values, reply *apiv1.GetExperimentResponse, trials []*apiv1.Trial) curve.Chart {
	x := reply.GetExperiment()
	metrics := curve.MetricsOf(trials)
	c := curve.Chart{
		Page: address(x.GetId()), Data: address(x.GetId()) + "/curves", Look: curve.ReadLook(q), Kept: url.Values{},
		Metric: curve.Choose(metrics, q.Get("metric"), x.GetSearcherMetric()).String(),
	}
	for _, m := range metrics {
		c.Metrics = append(c.Metrics, m.String())
	}
	for _, name := range []string{"sort", "offset"} {
		if text := q.Get(name); text != "" {
			c.Kept.Set(name, text)
		}
	}
	c.Title = c.Metric + " of the best trials by batches"
	return c
}

func newTrial(t *apiv1.Trial, names []hparam.Spec, metric string) trial {
	out := trial{
		ID: t.GetId(), State: t.ShownStatus(), Reason: t.GetReason(),
		Batches: t.GetTotalBatchesProcessed(), Restarts: t.GetRestarts(), Took: time.Duration(t.GetWallClockTime().GetValue() * float64(time.Second)).Round(time.Second),
		Checkpoints: t.GetCheckpointCount(), Size: t.GetTotalCheckpointSize(),
	}
	if b := t.GetSearcherMetricValue(); b != nil {
		out.Best = new(b.GetValue())
	}
	if latest, found := t.GetLatestValidation().GetMetrics().GetAvgMetrics().GetFields()[metric]; found {
		out.Latest = new(curve.NumberOf(latest))
	}
	flat := hparam.Flatten(t.GetHparams())
	for _, n := range names {
		out.Hparams = append(out.Hparams, hparam.Short(flat[n.Name]))
	}
	return out
}

// smallerIsBetter returns the direction of a search, which is in its configuration.
func smallerIsBetter(config *structpb.Struct) bool {
	v, found := config.GetFields()["searcher"].GetStructValue().GetFields()["smaller_is_better"]
	return !found || v.GetBoolValue()
}

// trialQuery is the order and the part of the table of trials.
type trialQuery struct {
	sort       string
	offset     int
	descending bool
}

// trialOrders are the keys by which trials can be sorted, and their names in the API.
var trialOrders = map[string]string{
	"id": "ID", "state": "STATE", "best": "BEST_VALIDATION_METRIC", "latest": "LATEST_VALIDATION_METRIC", "batches": "BATCHES_PROCESSED",
	"took": "DURATION", "restarts": "RESTARTS",
}

// readTrialQuery reads the parameters of a page. Sorted by a metric, the best is first.
func readTrialQuery(v url.Values, smallerIsBetter bool) trialQuery {
	q := trialQuery{sort: cmp.Or(v.Get("sort"), "best"), offset: ui.Offset(v)}
	if trialOrders[strings.TrimPrefix(q.sort, "-")] == "" {
		q.sort = "best"
	}
	q.descending = strings.HasPrefix(q.sort, "-")
	if key := strings.TrimPrefix(q.sort, "-"); (key == "best" || key == "latest") && !smallerIsBetter {
		q.descending = !q.descending
	}
	return q
}

func (q trialQuery) page() client.Page {
	return client.Page{Sort: trialOrders[strings.TrimPrefix(q.sort, "-")], Descending: q.descending, Offset: q.offset, Limit: trialsOfPage}
}
