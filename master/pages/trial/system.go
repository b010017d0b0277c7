package trial

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// system is the data of the page of the machines' metrics.
type system struct {
	head

	Chart curve.Chart
}

// reading is a metric of the profiler.
type reading struct {
	group, name string
	// unit is that of the chart, which has one for so many of the profiler.
	unit string
	per  float64
}

// readings are the metrics that the profiler reports. What it calls disk_iops is no rate, and not one of them.
var readings = []reading{
	{"gpu", "gpu_util", "%", 1},
	{"gpu", "gpu_free_memory", "GB", 1e9},
	{"cpu", "cpu_util_simple", "%", 1},
	{"memory", "memory_free", "GB", 1}, // unlike the GPU's
	{"network", "net_throughput_sent", "MB/s", 1e6},
	{"network", "net_throughput_recv", "MB/s", 1e6},
	{"disk", "disk_throughput_read", "MB/s", 1e6},
	{"disk", "disk_throughput_write", "MB/s", 1e6},
	{"disk", "disk_util", "%", 1},
}

// label returns the name with the unit.
func (r reading) label() string { return r.name + " (" + r.unit + ")" }

// reported returns the readings of a trial, or all of them before it has reported any.
func reported(t *apiv1.Trial) []reading {
	groups := t.GetSummaryMetrics().GetFields()
	known := slices.DeleteFunc(slices.Clone(readings), func(r reading) bool { return groups[r.group] == nil })
	if len(known) == 0 {
		return readings
	}
	return known
}

// readingOf returns the reading in an address, or the first of a trial.
func readingOf(v *ui.Visit, t *apiv1.Trial) reading {
	for _, r := range readings {
		if r.name == v.URL.Query().Get("metric") {
			return r
		}
	}
	return reported(t)[0]
}

func serveSystem(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	t := reply.GetTrial()
	r := readingOf(v, t)
	data := system{newHead(t, "/system"), curve.Chart{
		Title: r.label() + " by time", Page: address(t) + "/system", Data: address(t) + "/system/data", Look: curve.ReadLook(v.URL.Query()), Metric: r.name,
	}}
	for _, r := range reported(t) {
		data.Chart.Metrics = append(data.Chart.Metrics, r.name)
	}
	return v.Show(systemPage, fmt.Sprintf("System metrics of trial %d", t.GetId()), data)
}

// readSystem returns the chart of a reading.
func readSystem(v *ui.Visit) (curve.Plot, error) {
	reply, err := read(v)
	if err != nil {
		return curve.Plot{}, err
	}
	t := reply.GetTrial()
	r := readingOf(v, t)
	reports, err := v.API.TrialMetrics(v.Context(), t.GetId(), r.group)
	if err != nil && !isGone(err) {
		return curve.Plot{}, err
	}
	return curve.Plot{
		X: "time", Y: r.label(), File: fmt.Sprintf("trial-%d-%s", t.GetId(), r.name), Curves: systemSeries(reports, r), Live: t.GetEndTime() == nil, Time: true,
	}, nil
}

// mostSystem is the number of curves of a group.
const mostSystem = 64

// systemSeries returns a curve for each place where reports have a reading, with the names on the way to it, such
// as agent-1 GPU-7.
func systemSeries(reports []*apiv1.MetricsReport, r reading) []curve.Series {
	points := map[string][]curve.Point{}
	for _, report := range reports {
		at := report.GetEndTime().AsTime()
		inner := report.GetMetrics().GetFields()["avg_metrics"].GetStructValue()
		eachNumber(inner, "", r.name, 0, func(place string, n float64) {
			if _, known := points[place]; known || len(points) < mostSystem {
				points[place] = append(points[place], curve.Point{X: float64(at.UnixMilli()) / 1000, Y: n / r.per, At: at})
			}
		})
	}
	var all []curve.Series
	for _, name := range slices.Sorted(maps.Keys(points)) {
		slices.SortStableFunc(points[name], func(a, b curve.Point) int { return cmp.Compare(a.X, b.X) })
		all = append(all, curve.Series{Name: ui.Plain(name), Points: curve.Reduce(points[name], curve.Most)})
	}
	return all
}

// deepest is the number of levels of a report that are read.
const deepest = 6

// eachNumber calls do for each number with a name, with the names on the way to it.
func eachNumber(s *structpb.Struct, place, name string, depth int, do func(place string, n float64)) {
	for _, key := range slices.Sorted(maps.Keys(s.GetFields())) {
		v := s.GetFields()[key]
		if _, isNumber := v.GetKind().(*structpb.Value_NumberValue); isNumber && key == name {
			do(cmp.Or(place, name), v.GetNumberValue())
		}
		if v.GetStructValue() != nil && depth < deepest {
			eachNumber(v.GetStructValue(), strings.TrimSpace(place+" "+key), name, depth+1, do)
		}
	}
}
