// Package curve reads curves of metrics from what the API answers, and writes them for people and
// scripts: as a chart, as JSON and as CSV.
package curve

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Metric is a metric with its group, as in validation.loss.
type Metric struct{ Group, Name string }

// ParseMetric parses group.name. It returns false for other texts.
func ParseMetric(text string) (Metric, bool) {
	group, name, found := strings.Cut(text, ".")
	return Metric{group, name}, found && group != "" && name != ""
}

// String returns group.name.
func (m Metric) String() string { return m.Group + "." + m.Name }

// groups are the names that summaries have for two groups, and their own.
var groups = map[string]string{"avg_metrics": "training", "validation_metrics": "validation"}

// system are the groups of the profiler, which have no steps.
var system = []string{"cpu", "memory", "gpu", "network", "disk"}

// mostMetrics is the number of metrics that a page offers.
const mostMetrics = 200

// MetricsOf returns the metrics with numbers that trials have reported: those of validations first.
func MetricsOf(trials []*apiv1.Trial) []Metric {
	found := map[Metric]bool{}
	for _, t := range trials {
		for key, stats := range t.GetSummaryMetrics().GetFields() {
			group := cmp.Or(groups[key], key)
			if slices.Contains(system, group) {
				continue
			}
			for name, stat := range stats.GetStructValue().GetFields() {
				if isNumber(stat) {
					found[Metric{group, name}] = true
				}
			}
		}
	}
	all := make([]Metric, 0, len(found))
	for m := range found {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Metric) int {
		return cmp.Or(-cmp.Compare(rank(a), rank(b)), strings.Compare(a.Group, b.Group), strings.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), mostMetrics)]
}

// rank puts validations first and metrics of time last.
func rank(m Metric) int {
	switch m.Group {
	case "validation":
		return 2
	case "training":
		return 1
	}
	return 0
}

func isNumber(stat *structpb.Value) bool {
	return stat.GetStructValue().GetFields()["type"].GetStringValue() == "number"
}

// Choose returns the metric that a page shows: the wanted one, or else that of the search, or else the first.
func Choose(all []Metric, wanted, searcher string) Metric {
	for _, text := range []string{wanted, "validation." + searcher} {
		if m, ok := ParseMetric(text); ok && (slices.Contains(all, m) || text == wanted) {
			return m
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return Metric{"validation", searcher}
}
