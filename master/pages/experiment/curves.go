package experiment

import (
	"slices"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// The curves of the best trials have colours. Those of others are grey, and have fewer points.
const (
	drawnBest   = 20
	drawnOthers = 100
	bestPoints  = 400
	otherPoints = 60
)

// readPlot returns the chart of the experiment in the address of a page.
func readPlot(v *ui.Visit) (curve.Plot, error) {
	all, m, live, err := readCurves(v)
	return curve.Plot{X: "batches", Y: m.String(), File: "experiment-" + v.PathValue("experiment"), Curves: all, Live: live}, err
}

// readCurves returns the curves of the best trials of an experiment and of some others.
func readCurves(v *ui.Visit) (all []curve.Series, m curve.Metric, live bool, err error) {
	id, err := idOf(v)
	if err != nil {
		return nil, m, false, err
	}
	reply, err := v.API.Experiment(v.Context(), id)
	if err != nil {
		return nil, m, false, err
	}
	best, err := bestTrials(v, reply, drawnBest)
	if err != nil {
		return nil, m, false, err
	}
	m = curve.Choose(curve.MetricsOf(best.GetTrials()), v.URL.Query().Get("metric"), reply.GetExperiment().GetSearcherMetric())
	ids := idsOf(best.GetTrials())
	if all, err = readSeries(v, ids, m, bestPoints, false); err != nil {
		return nil, m, false, err
	}
	var others []int32
	for _, t := range reply.GetExperiment().GetTrialIds() {
		if !slices.Contains(ids, t) && len(others) < drawnOthers {
			others = append(others, t)
		}
	}
	grey, err := readSeries(v, others, m, otherPoints, true)
	return append(all, grey...), m, reply.GetExperiment().GetEndTime() == nil, err
}

func idsOf(trials []*apiv1.Trial) []int32 {
	out := make([]int32, 0, len(trials))
	for _, t := range trials {
		out = append(out, t.GetId())
	}
	return out
}

func readSeries(v *ui.Visit, trials []int32, m curve.Metric, points int, other bool) ([]curve.Series, error) {
	if len(trials) == 0 {
		return nil, nil
	}
	list, err := v.API.CompareTrials(v.Context(), trials, []string{m.String()}, points)
	if client.KindOf(err) == client.NotFound { // a trial was deleted meanwhile
		return nil, nil
	}
	out := make([]curve.Series, 0, len(list))
	for _, t := range list {
		s := curve.FromTrial(t, m)
		s.Other = other
		out = append(out, s)
	}
	return out, err
}
