// Package series implements the API of metrics: it stores reports of programs, and returns reports,
// curves and comparisons.
package series

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
)

// Experiments provides experiments and trials; experiment.Experiments implements it. The methods
// return NotFound if the object does not exist.
type Experiments interface {
	Get(id int32) (experiment.View, error)
	Trials(ctx context.Context, experiment int32) ([]experiment.TrialView, error)
	Trial(ctx context.Context, id int32) (experiment.TrialView, error)
	// Report stores a report; its Base is ignored.
	Report(ctx context.Context, r metric.Report) error
}

// Config configures New. All fields except Now are required.
type Config struct {
	Experiments Experiments
	Store       *store.Store
	Metrics     *metric.Metrics
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
}

// Series implements the API of metrics. It is safe for concurrent use.
type Series struct{ cfg Config }

// New returns the API of metrics.
func New(cfg Config) *Series {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Series{cfg}
}

// groupOf returns the group of a request.
func groupOf(group string, kind apiv1.MetricType) string {
	switch {
	case group != "":
		return group
	case kind == apiv1.MetricType_METRIC_TYPE_TRAINING:
		return metric.Training
	}
	return metric.Validation
}

func typeOf(group string) apiv1.MetricType {
	switch {
	case group == metric.Training:
		return apiv1.MetricType_METRIC_TYPE_TRAINING
	case group == metric.Validation:
		return apiv1.MetricType_METRIC_TYPE_VALIDATION
	case metric.IsProfiling(group):
		return apiv1.MetricType_METRIC_TYPE_PROFILING
	}
	return apiv1.MetricType_METRIC_TYPE_UNSPECIFIED
}

// showTime converts a time to a timestamp, and the zero time to nil.
func showTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// showValues converts decoded JSON values to a Struct.
func showValues(values map[string]any) (*structpb.Struct, error) {
	if values == nil {
		values = map[string]any{}
	}
	return structpb.NewStruct(values)
}

// showNumber converts a number to a value. NaN and infinities become strings, because a Struct
// cannot hold them.
func showNumber(x float64) *structpb.Value {
	if text, special := metric.JSONNumber(x).(string); special {
		return structpb.NewStringValue(text)
	}
	return structpb.NewNumberValue(x)
}
