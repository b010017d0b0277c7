package experiment

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/spreadsheet"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/hparam"
	"github.com/det-deploy/det-deploy/master/pages/plot"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// hyperparameters is the data of the page of the hyperparameters.
type hyperparameters struct {
	head

	Metric   string
	Names    []chosen
	Parallel template.HTML
	Plots    []template.HTML
	// Drawn of Total trials are drawn, Missing have no validation.
	Drawn, Missing, Total int
}

// chosen is a hyperparameter in the form.
type chosen struct {
	Name   string
	Chosen bool
}

const (
	// mostDrawn is the number of trials in plots, which are read in parts of trialsOfPart. shownAtFirst and
	// mostShown are numbers of hyperparameters.
	mostDrawn    = 1000
	trialsOfPart = 100
	shownAtFirst = 4
	mostShown    = 8
	// marked is the number of trials with links.
	marked = 10
)

func serveHyperparameters(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	trials, total, err := readAllTrials(v, reply)
	if err != nil {
		return err
	}
	return v.Show(hyperparametersPage, title(reply), newHyperparameters(v.URL.Query(), reply, trials, total))
}

// readAllTrials returns the first trials of an experiment with their hyperparameters and results, and the number
// of all. It reads them in parts, of which it keeps little: an answer has all metrics of each trial.
func readAllTrials(v *ui.Visit, reply *apiv1.GetExperimentResponse) (all []*apiv1.Trial, total int, err error) {
	for len(all) < mostDrawn {
		page, err := v.API.TrialPage(v.Context(), reply.GetExperiment().GetId(), client.Page{Sort: "ID", Offset: len(all), Limit: trialsOfPart})
		if err != nil {
			return nil, 0, err
		}
		for _, t := range page.GetTrials() {
			all = append(all, &apiv1.Trial{
				Id: t.GetId(), ExperimentId: t.GetExperimentId(), State: t.GetState(), Hparams: t.GetHparams(), SearcherMetricValue: t.GetSearcherMetricValue(),
			})
		}
		total = int(page.GetPagination().GetTotal())
		if len(page.GetTrials()) == 0 || len(all) >= total {
			break
		}
	}
	return all[:min(len(all), mostDrawn)], total, nil
}

func newHyperparameters(q url.Values, reply *apiv1.GetExperimentResponse, trials []*apiv1.Trial, total int) hyperparameters {
	x := reply.GetExperiment()
	h := hyperparameters{head: newHead(reply, "/hyperparameters"), Metric: x.GetSearcherMetric(), Total: total}
	valid := slices.DeleteFunc(slices.Clone(trials), func(t *apiv1.Trial) bool { return t.GetSearcherMetricValue() == nil })
	h.Drawn, h.Missing = len(valid), len(trials)-len(valid)
	specs := hparam.Varying(reply.GetConfig())
	shown := chooseSpecs(specs, q["hp"])
	for _, s := range specs[:min(len(specs), mostPicked)] {
		h.Names = append(h.Names, chosen{s.Name, slices.Contains(shown, s)})
	}
	if len(valid) == 0 {
		return h
	}
	metric := metricColumn(ui.Plain(h.Metric), valid)
	marks := marksOf(valid, smallerIsBetter(reply.GetConfig()), h.Metric)
	columns, flat := make([]plot.Column, 0, len(shown)+1), flatten(valid)
	for _, s := range shown {
		c := columnOf(s, flat)
		columns = append(columns, c)
		h.Plots = append(h.Plots, plot.Scatter(metric.Name+" by "+c.Name, c, metric, marks))
	}
	h.Parallel = plot.Parallel("Hyperparameters and "+metric.Name, append(columns, metric), marks)
	return h
}

// mostPicked is the number of hyperparameters in the form.
const mostPicked = 100

// chooseSpecs returns the hyperparameters with the names, or the first ones.
func chooseSpecs(all []hparam.Spec, names []string) []hparam.Spec {
	var out []hparam.Spec
	for _, s := range all {
		if slices.Contains(names, s.Name) && len(out) < mostShown {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return all[:min(len(all), shownAtFirst)]
	}
	return out
}

// flatten returns the hyperparameters of each trial by name.
func flatten(trials []*apiv1.Trial) []map[string]*structpb.Value {
	out := make([]map[string]*structpb.Value, 0, len(trials))
	for _, t := range trials {
		out = append(out, hparam.Flatten(t.GetHparams()))
	}
	return out
}

func columnOf(s hparam.Spec, flat []map[string]*structpb.Value) plot.Column {
	c := plot.Column{Name: ui.Plain(s.Name), Log: s.Log}
	for _, of := range flat {
		value := hparam.Value(of[s.Name])
		if text, ok := value.(string); ok {
			value = ui.Plain(text)
		}
		c.Values = append(c.Values, value)
	}
	return c
}

func metricColumn(name string, trials []*apiv1.Trial) plot.Column {
	c := plot.Column{Name: name}
	for _, t := range trials {
		c.Values = append(c.Values, t.GetSearcherMetricValue().GetValue())
	}
	return c
}

// marksOf returns the best trials.
func marksOf(trials []*apiv1.Trial, smallerIsBetter bool, metric string) []plot.Mark {
	key := func(i int) float64 {
		v := trials[i].GetSearcherMetricValue().GetValue()
		switch {
		case math.IsNaN(v):
			return math.Inf(1)
		case smallerIsBetter:
			return v
		}
		return -v
	}
	order := make([]int, len(trials))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
	var out []plot.Mark
	for _, i := range order[:min(len(order), marked)] {
		t := trials[i]
		out = append(out, plot.Mark{
			Index: i, Link: fmt.Sprintf("/det/experiments/%d/trials/%d", t.GetExperimentId(), t.GetId()),
			Text: fmt.Sprintf("trial %d: %s %s", t.GetId(), ui.Plain(metric), plot.Number(t.GetSearcherMetricValue().GetValue())),
		})
	}
	return out
}

// serveHyperparametersCSV sends a line for each trial.
func serveHyperparametersCSV(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	trials, _, err := readAllTrials(v, reply)
	if err != nil {
		return err
	}
	specs := hparam.Varying(reply.GetConfig())
	head := []string{"trial", "state", reply.GetExperiment().GetSearcherMetric()}
	for _, s := range specs {
		head = append(head, s.Name)
	}
	w := spreadsheet.NewWriter(v.Attach(fmt.Sprintf("experiment-%d-hyperparameters.csv", reply.GetExperiment().GetId()), "text/csv; charset=utf-8"))
	w.Write(head...)
	for _, t := range trials {
		metric := ""
		if m := t.GetSearcherMetricValue(); m != nil {
			metric = fmt.Sprint(m.GetValue())
		}
		row := []string{fmt.Sprint(t.GetId()), apiv1.StateWord(t.GetState().String()), metric}
		flat := hparam.Flatten(t.GetHparams())
		for _, s := range specs {
			if n, ok := hparam.Value(flat[s.Name]).(float64); ok {
				row = append(row, fmt.Sprint(n))
				continue
			}
			row = append(row, hparam.Text(flat[s.Name]))
		}
		w.Write(row...)
	}
	return w.Flush()
}
