package machine

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/monitoring/v3"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/host/metrics"
)

// metricPrefix is the prefix of custom metrics. A metric is created by its first point.
// https://cloud.google.com/monitoring/custom-metrics
const metricPrefix = "custom.googleapis.com/" + metrics.Namespace + "/"

// maxSeries is the maximum number of time series per request.
const maxSeries = 200

// Points writes the metrics of an instance to Cloud Monitoring.
type Points struct {
	self    self
	clients api.Clients
}

var _ metrics.Sink = Points{}

// Send implements metrics.Sink.
func (p Points) Send(ctx context.Context, points []metrics.Point, at time.Time) error {
	for some := range slices.Chunk(points, maxSeries) {
		var in []*monitoring.TimeSeries
		for _, point := range some {
			in = append(in, p.seriesOf(point, at))
		}
		request := &monitoring.CreateTimeSeriesRequest{TimeSeries: in}
		if err := api.Send(ctx, p.clients.Monitoring.Projects.TimeSeries.Create(p.clients.ProjectName(), request)); err != nil {
			return err
		}
	}
	return nil
}

func (p Points) seriesOf(point metrics.Point, at time.Time) *monitoring.TimeSeries {
	labels := make(map[string]string, len(point.Of))
	for name, value := range point.Of {
		labels[strings.ToLower(name)] = value // Google's label names are lowercase
	}
	return &monitoring.TimeSeries{
		Metric:     &monitoring.Metric{Type: metricPrefix + point.Metric, Labels: labels},
		Resource:   &monitoring.MonitoredResource{Type: monitoredType, Labels: p.self.monitored()},
		MetricKind: "GAUGE", ValueType: "DOUBLE", Unit: "%",
		Points: []*monitoring.Point{{
			Interval: &monitoring.TimeInterval{EndTime: at.UTC().Format(time.RFC3339Nano)},
			Value:    &monitoring.TypedValue{DoubleValue: &point.Percent},
		}},
	}
}
