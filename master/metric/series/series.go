// Package series is the metrics of trials as clients of the API see them: it takes in what
// programs report, and shows reports, curves and comparisons.
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

// Experiments is the experiments whose trials report; experiment.Experiments has these
// methods. The errors for what does not exist have the code NotFound.
type Experiments interface {
	Get(id int32) (experiment.View, error)
	Trials(ctx context.Context, experiment int32) ([]experiment.TrialView, error)
	Trial(ctx context.Context, id int32) (experiment.TrialView, error)
	// Report takes in a report, whose Base is not read.
	Report(ctx context.Context, r metric.Report) error
}

// Config is what New needs. All but Now must be set.
type Config struct {
	Experiments Experiments
	Store       *store.Store
	Metrics     *metric.Metrics
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Series answers for metrics. It is safe for concurrent use.
type Series struct{ cfg Config }

// New is the API of metrics.
func New(cfg Config) *Series {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Series{cfg}
}

// groupOf is the group that a request means.
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

// showTime is nil for a time that is not known.
func showTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// showValues is values as clients read them; they are what JSON has.
func showValues(values map[string]any) (*structpb.Struct, error) {
	if values == nil {
		values = map[string]any{}
	}
	return structpb.NewStruct(values)
}

// showNumber is a number of a Struct, which holds no special ones.
func showNumber(x float64) *structpb.Value {
	if text, special := metric.JSONNumber(x).(string); special {
		return structpb.NewStringValue(text)
	}
	return structpb.NewNumberValue(x)
}
