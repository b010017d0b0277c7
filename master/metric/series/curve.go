package series

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/metric"
)

// curveRequest is implemented by all requests for one metric.
type curveRequest interface {
	GetMetricName() string
	GetGroup() string
	GetMetricType() apiv1.MetricType
}

func curveOf(q curveRequest) (name, error) {
	if q.GetMetricName() == "" {
		return name{}, status.New(status.InvalidArgument, "metricName: is required")
	}
	return name{groupOf(q.GetGroup(), q.GetMetricType()), q.GetMetricName()}, nil
}

// point is one value of a curve.
type point struct {
	steps int64
	value float64
	at    time.Time
	// epoch is nil if the program does not report it.
	epoch *float64
}

// window is a range of steps, both limits included.
type window struct{ from, to int64 }

// windowOf returns the window of a request, in which an end of 0 means no limit. It returns
// InvalidArgument if the window is invalid.
func windowOf(startBatches, endBatches int32) (window, error) {
	if startBatches < 0 || endBatches < 0 || (endBatches > 0 && endBatches < startBatches) {
		return window{}, status.New(status.InvalidArgument,
			"startBatches and endBatches: must be a window of steps (%d to %d)", startBatches, endBatches)
	}
	w := window{from: int64(startBatches), to: int64(endBatches)}
	if w.to == 0 {
		w.to = mostSteps
	}
	return w, nil
}

// mostSteps exceeds all steps that clients can report.
const mostSteps = 1 << 32

// readCurve returns the numeric values of a trial's metric within a window.
func (s *Series) readCurve(ctx context.Context, trial int32, c name, w window) ([]point, error) {
	var points []point
	for r, err := range metric.Read(ctx, s.cfg.Store, int64(trial), c.group, w.from-1) {
		if err != nil {
			return nil, err
		}
		if r.Steps > w.to {
			break
		}
		x, ok := metric.Number(r.Values.Averages[c.metric])
		if !ok {
			continue
		}
		p := point{steps: r.Steps, value: x, at: r.At}
		if epoch, ok := metric.Number(r.Values.Averages["epoch"]); ok {
			p.epoch = &epoch
		}
		points = append(points, p)
	}
	return points, nil
}

func showPoints(name string, points []point) []*apiv1.DataPoint {
	out := make([]*apiv1.DataPoint, 0, len(points))
	for _, p := range points {
		out = append(out, &apiv1.DataPoint{
			Batches: int32(p.steps), Time: showTime(p.at), Epoch: p.epoch,
			Values: &structpb.Struct{Fields: map[string]*structpb.Value{name: showNumber(p.value)}},
		})
	}
	return out
}
