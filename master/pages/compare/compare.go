// Package compare is the page that compares experiments.
package compare

import (
	"cmp"
	"embed"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed compare.html
var files embed.FS

var comparePage = ui.MustParse(files, "compare.html")

// Pages returns the pages of this package.
func Pages() []ui.Page {
	return append(curve.Pages("/det/compare/curves", readCurves), ui.Page{Pattern: "GET /det/compare", Serve: serve})
}

// most is the number of experiments that are compared.
const most = 10

// readIDs returns the experiments in an address, whose parameters ids have one or several.
func readIDs(q url.Values) ([]int32, error) {
	var ids []int32
	for _, text := range strings.FieldsFunc(strings.Join(q["ids"], ","), func(r rune) bool { return r == ',' || r == ' ' }) {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil || id <= 0 {
			return nil, &ui.Refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("ids=%s: must be numbers of experiments, such as 7,12.", ui.Plain(text))}
		}
		if !slices.Contains(ids, int32(id)) {
			ids = append(ids, int32(id))
		}
		if len(ids) > most {
			return nil, &ui.Refusal{Status: http.StatusBadRequest, Message: fmt.Sprintf("At most %d experiments can be compared.", most)}
		}
	}
	return ids, nil
}

func readExperiments(v *ui.Visit) ([]*apiv1.GetExperimentResponse, error) {
	ids, err := readIDs(v.URL.Query())
	if err != nil {
		return nil, err
	}
	all := make([]*apiv1.GetExperimentResponse, 0, len(ids))
	for _, id := range ids {
		x, err := v.API.Experiment(v.Context(), id)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// trialsOf returns the best trial of each experiment, or its first if it has no validation.
func trialsOf(all []*apiv1.GetExperimentResponse) []int32 {
	var ids []int32
	for _, reply := range all {
		x := reply.GetExperiment()
		switch {
		case x.BestTrialId != nil:
			ids = append(ids, x.GetBestTrialId())
		case len(x.GetTrialIds()) > 0:
			ids = append(ids, x.GetTrialIds()[0])
		}
	}
	return ids
}

// readTrials returns the best trials of experiments.
func readTrials(v *ui.Visit, all []*apiv1.GetExperimentResponse) ([]*apiv1.Trial, error) {
	var trials []*apiv1.Trial
	for _, id := range trialsOf(all) {
		t, err := v.API.Trial(v.Context(), id)
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
	return trials, nil
}

// searcherMetric returns the metric of the first experiment's search.
func searcherMetric(all []*apiv1.GetExperimentResponse) string {
	if len(all) == 0 {
		return ""
	}
	return all[0].GetExperiment().GetSearcherMetric()
}

func serve(v *ui.Visit) error {
	all, err := readExperiments(v)
	if err != nil {
		return err
	}
	trials, err := readTrials(v, all)
	if err != nil {
		return err
	}
	q := v.URL.Query()
	metrics := curve.MetricsOf(trials)
	c := curve.Chart{
		Page: "/det/compare", Data: "/det/compare/curves", Look: curve.ReadLook(q), Kept: url.Values{"ids": q["ids"]},
		Metric: curve.Choose(metrics, q.Get("metric"), searcherMetric(all)).String(),
	}
	for _, m := range metrics {
		c.Metrics = append(c.Metrics, m.String())
	}
	c.Title = c.Metric + " of the best trial of each experiment by batches"
	return v.Show(comparePage, "Compare experiments", newView(all, trials, c))
}

// readCurves returns the curve of the best trial of each experiment.
func readCurves(v *ui.Visit) (p curve.Plot, err error) {
	list, err := readExperiments(v)
	if err != nil {
		return p, err
	}
	trials, err := readTrials(v, list)
	if err != nil {
		return p, err
	}
	m := curve.Choose(curve.MetricsOf(trials), v.URL.Query().Get("metric"), searcherMetric(list))
	p = curve.Plot{X: "batches", Y: m.String(), File: "compare"}
	if len(trials) == 0 {
		return p, nil
	}
	curves, err := v.API.CompareTrials(v.Context(), trialsOf(list), []string{m.String()}, curve.Most)
	if err != nil {
		return p, err
	}
	for _, reply := range list {
		x := reply.GetExperiment()
		p.Live = p.Live || x.GetEndTime() == nil
		for _, c := range curves {
			if c.GetTrial().GetExperimentId() == x.GetId() {
				s := curve.FromTrial(c, m)
				s.Name = fmt.Sprintf("%d %s, %s", x.GetId(), ui.Plain(cmp.Or(x.GetName(), "?")), s.Name)
				p.Curves = append(p.Curves, s)
			}
		}
	}
	return p, nil
}
