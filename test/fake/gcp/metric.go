package gcptest

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/api/monitoring/v3"
)

// metrics is Cloud Monitoring: the points of all projects.
type metrics struct {
	points map[string][]*monitoring.TimeSeries // by project
	ends   map[string]time.Time                // of the latest point, by project and series
}

func metricActs() map[string]act {
	return map[string]act{"monitoring.projects.timeSeries.create": createPoints}
}

// createPoints accepts one point per time series, at least five seconds later than the last one.
// https://cloud.google.com/monitoring/custom-metrics/creating-metrics#writing-ts
func createPoints(c *call) (any, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	in := decode[monitoring.CreateTimeSeriesRequest](c)
	if len(in.TimeSeries) == 0 || len(in.TimeSeries) > 200 {
		return nil, invalid("Field timeSeries must have 1 to 200 elements (has %d).", len(in.TimeSeries))
	}
	for i, s := range in.TimeSeries {
		if err := c.checkSeries(p, s, in.TimeSeries[:i]); err != nil {
			return nil, err
		}
	}
	for _, s := range in.TimeSeries {
		end, _ := time.Parse(time.RFC3339Nano, s.Points[0].Interval.EndTime) // checkSeries has parsed it
		c.metrics.ends[p.id+" "+seriesKey(s)] = end
	}
	c.metrics.points[p.id] = append(c.metrics.points[p.id], in.TimeSeries...)
	return map[string]any{}, nil
}

// checkSeries: https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.timeSeries/create
func (c *call) checkSeries(p *project, s *monitoring.TimeSeries, before []*monitoring.TimeSeries) error {
	switch {
	case s.Metric == nil || !strings.HasPrefix(s.Metric.Type, "custom.googleapis.com/") && !strings.HasPrefix(s.Metric.Type, "workload.googleapis.com/"):
		return invalid("A metric of one's own is of custom.googleapis.com or workload.googleapis.com.")
	case s.Resource == nil:
		return invalid("The monitored resource is missing.")
	case len(s.Points) != 1 || s.Points[0].Interval == nil || s.Points[0].Value == nil:
		return invalid("A series has exactly one point.")
	case slices.ContainsFunc(before, func(b *monitoring.TimeSeries) bool { return seriesKey(b) == seriesKey(s) }):
		return invalid("A request has each series once (%s).", seriesKey(s))
	}
	end, err := time.Parse(time.RFC3339Nano, s.Points[0].Interval.EndTime)
	if err != nil {
		return invalid("The end of the interval is missing.")
	}
	if last, found := c.metrics.ends[p.id+" "+seriesKey(s)]; found && end.Before(last.Add(5*time.Second)) {
		return invalid("One or more points were written more frequently than the maximum sampling period configured for the metric.")
	}
	return nil
}

// seriesKey returns a key that identifies a time series: its metric, its resource and their labels.
func seriesKey(s *monitoring.TimeSeries) string {
	key := s.Metric.Type
	for _, k := range sortedKeys(s.Metric.Labels) {
		key += " " + k + "=" + s.Metric.Labels[k]
	}
	if s.Resource != nil {
		key += " " + s.Resource.Type
		for _, k := range sortedKeys(s.Resource.Labels) {
			key += " " + k + "=" + s.Resource.Labels[k]
		}
	}
	return key
}

// Points returns the points of a project in the order of arrival.
func (w *World) Points(projectID string) []*monitoring.TimeSeries {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.metrics.points[projectID])
}
