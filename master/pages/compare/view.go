package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/hparam"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// view is what the page shows.
type view struct {
	IDs     string
	Columns []column
	Chart   curve.Chart
	// Hparams are the hyperparameters that are not the same in the best trials.
	Hparams []difference
	// Differences are the settings that are not the same in all experiments; More is the number of those that are
	// left out.
	Differences []difference
	More        int
}

// column is an experiment.
type column struct {
	X     *apiv1.Experiment
	State string
	Best  *float64
	// Trial is the trial of the experiment whose curve is drawn; it may be nil.
	Trial *apiv1.Trial
	Usage *apiv1.ResourceUsage
	Costs string
}

// difference is a setting with its value in each experiment.
type difference struct {
	Name   string
	Values []string
}

// mostDifferences is the number of settings that the page shows.
const mostDifferences = 200

func newView(all []*apiv1.GetExperimentResponse, trials []*apiv1.Trial, chart curve.Chart) view {
	v := view{Chart: chart}
	var ids []string
	var configs, hparams []map[string]*structpb.Value
	for _, reply := range all {
		x := reply.GetExperiment()
		c := column{X: x, State: x.ShownStatus(), Usage: reply.GetUsage()}
		if b := x.GetBestTrialSearcherMetric(); b != nil {
			c.Best = new(b.GetValue())
		}
		if i := slices.IndexFunc(trials, func(t *apiv1.Trial) bool { return t.GetExperimentId() == x.GetId() }); i >= 0 {
			c.Trial = trials[i]
		}
		c.Costs = ui.Costs(reply.GetUsage())
		v.Columns = append(v.Columns, c)
		ids = append(ids, fmt.Sprint(x.GetId()))
		configs = append(configs, hparam.Flatten(reply.GetConfig()))
		hparams = append(hparams, hparam.Flatten(c.Trial.GetHparams()))
	}
	v.IDs = strings.Join(ids, ",")
	v.Hparams = differences(hparams)
	v.Hparams = v.Hparams[:min(len(v.Hparams), mostDifferences)]
	v.Differences = differences(configs)
	v.More = max(0, len(v.Differences)-mostDifferences)
	v.Differences = v.Differences[:len(v.Differences)-v.More]
	return v
}

// differences returns the settings whose values are not the same in all configurations.
func differences(configs []map[string]*structpb.Value) []difference {
	names := map[string]bool{}
	for _, c := range configs {
		for name := range c {
			names[name] = true
		}
	}
	var all []difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d := difference{Name: name}
		same := true
		for _, c := range configs {
			d.Values = append(d.Values, hparam.Text(c[name]))
			same = same && equal(c[name], configs[0][name])
		}
		if !same {
			all = append(all, d)
		}
	}
	return all
}

// equal reports whether two settings have the same value. One that is left out is null.
func equal(a, b *structpb.Value) bool {
	return hparam.Value(a) == nil && hparam.Value(b) == nil || proto.Equal(a, b)
}
