package series

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// ended is an experiment with ended trials.
type ended struct {
	record.Experiment

	trials  []record.Trial
	metrics *metric.Metrics
	store   *store.Store
}

func (e *ended) Get(id int32) (experiment.View, error) {
	if id != e.ID {
		return experiment.View{}, status.Missing("experiment", fmt.Sprint(id))
	}
	return experiment.View{Experiment: e.Experiment}, nil
}

func (e *ended) Trials(context.Context, int32) ([]experiment.TrialView, error) {
	var all []experiment.TrialView
	for _, t := range e.trials {
		all = append(all, experiment.TrialView{Trial: t})
	}
	return all, nil
}

func (e *ended) Trial(_ context.Context, id int32) (experiment.TrialView, error) {
	for _, t := range e.trials {
		if t.ID == id {
			return experiment.TrialView{Trial: t}, nil
		}
	}
	return experiment.TrialView{}, status.Missing("trial", fmt.Sprint(id))
}

func (e *ended) Report(ctx context.Context, r metric.Report) error {
	return e.store.Write(ctx, func(tx *store.Tx) error {
		_, err := e.metrics.Put(ctx, tx, r)
		return err
	})
}

// newSeries returns two trials with validations at 10, 20, …, 100. The second is better and later.
func newSeries(t *testing.T) *Series {
	t.Helper()
	s := storetest.New(t)
	m := metric.Open(s)
	e := &ended{metrics: m, store: s, Experiment: record.Experiment{ID: 1, State: lifecycle.Completed, Searcher: record.Searcher{Metric: "loss", SmallerIsBetter: true}}}
	for id := range int32(2) {
		e.trials = append(e.trials, record.Trial{
			ID: id + 1, Hparams: map[string]any{"n": int(id)}, Life: lifecycle.Trial{State: lifecycle.Completed},
			Best: &record.Best{Trial: id + 1, Metric: search.Number(1 - 0.5*float64(id))},
		})
	}
	series := New(Config{Experiments: e, Store: s, Metrics: m})
	for id := int32(1); id <= 2; id++ {
		for steps := int32(10); steps <= 100; steps += 10 {
			loss := 10/float64(steps) + 1 - 0.5*float64(id-1)
			reportOne(t, series, step{id, "validation", &steps}, map[string]any{"loss": loss, "epoch": float64(steps) / 10})
		}
	}
	steps := int32(5)
	reportOne(t, series, step{1, "training", &steps}, map[string]any{"loss": math.NaN(), "lr": 0.1})
	reportOne(t, series, step{1, "cpu", nil}, map[string]any{"agent-1": map[string]any{"util": 0.5}})
	return series
}

// step identifies a report. Without steps it is ordered by time.
type step struct {
	trial int32
	group string
	steps *int32
}

func reportOne(t *testing.T, s *Series, at step, values map[string]any) {
	t.Helper()
	if x, ok := values["loss"].(float64); ok && math.IsNaN(x) {
		values["loss"] = "NaN" // as sent by clients
	}
	averages, err := structpb.NewStruct(values)
	if err != nil {
		t.Fatal(err)
	}
	m := &apiv1.TrialMetrics{TrialRunId: 1, StepsCompleted: at.steps, Metrics: &apiv1.Metrics{AvgMetrics: averages}}
	if at.steps != nil {
		m.ReportTime = timestamppb.New(time.Unix(int64(1000*at.trial+*at.steps), 0))
	}
	if err := s.Report(t.Context(), at.trial, at.group, m); err != nil {
		t.Fatal(err)
	}
}

// all collects the messages of a stream.
func all[T any](t *testing.T, stream func(send func(T) error) error) []T {
	t.Helper()
	var sent []T
	if err := stream(func(m T) error { sent = append(sent, m); return nil }); err != nil {
		t.Fatal(err)
	}
	return sent
}

func TestReports(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	for _, c := range []struct {
		group, key  string
		want, steps int
	}{{"validation", "validation_metrics", 20, 10}, {"training", "avg_metrics", 1, 5}, {"cpu", "avg_metrics", 1, 0}, {"none", "", 0, 0}} {
		var reports []*apiv1.MetricsReport
		for _, m := range all(t, func(send func(*apiv1.GetMetricsResponse) error) error {
			return s.Reports(t.Context(), []int32{2, 1, 2}, c.group, send)
		}) {
			reports = append(reports, m.GetMetrics()...)
		}
		if len(reports) != c.want {
			t.Errorf("%s: got %d reports, want %d", c.group, len(reports), c.want)
			continue
		}
		if c.want == 0 {
			continue
		}
		first := reports[0]
		if first.GetTrialId() != 1 || first.GetTotalBatches() != int32(c.steps) || first.GetGroup() != c.group || first.GetMetrics().GetFields()[c.key] == nil || first.GetId() != 1 || first.GetTrialRunId() != 1 {
			t.Errorf("%s: got %v, want trial 1 at step %d below %s", c.group, first, c.steps, c.key)
		}
	}
	err := s.Reports(t.Context(), []int32{3}, "training", nil)
	if status.Of(err) != status.NotFound {
		t.Errorf("got %v, want that there is no trial 3", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	got := all(t, func(send func(*apiv1.ExpMetricNamesResponse) error) error {
		return s.Names(t.Context(), &apiv1.ExpMetricNamesRequest{Ids: []int32{1}}, send)
	})
	if len(got) != 1 || !slices.Equal(got[0].GetSearcherMetrics(), []string{"loss"}) || !slices.Equal(got[0].GetTrainingMetrics(), []string{"loss", "lr"}) ||
		!slices.Equal(got[0].GetValidationMetrics(), []string{"epoch", "loss"}) || len(got[0].GetMetricNames()) != 4 {
		t.Errorf("got %v, want the names of both groups, and the stream to end", got)
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	got := all(t, func(send func(*apiv1.MetricBatchesResponse) error) error {
		return s.Batches(t.Context(), &apiv1.MetricBatchesRequest{ExperimentId: 1, MetricName: "loss", MetricType: apiv1.MetricType_METRIC_TYPE_VALIDATION}, send)
	})
	if want := []int32{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}; len(got) != 1 || !slices.Equal(got[0].GetBatches(), want) {
		t.Errorf("got %v, want %v once", got, want)
	}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	for _, c := range []struct{ steps, margin, want int32 }{{20, 0, 20}, {24, 5, 20}, {26, 20, 30}, {24, 3, 0}, {500, 0, 0}} {
		got := all(t, func(send func(*apiv1.TrialsSnapshotResponse) error) error {
			return s.Snapshot(t.Context(), &apiv1.TrialsSnapshotRequest{ExperimentId: 1, MetricName: "loss", Group: "validation", BatchesProcessed: c.steps, BatchesMargin: c.margin}, send)
		})
		trials := got[0].GetTrials()
		if (c.want == 0) != (len(trials) == 0) || (c.want > 0 && (len(trials) != 2 || trials[0].GetBatchesProcessed() != c.want || trials[1].GetHparams().GetFields()["n"].GetNumberValue() != 1)) {
			t.Errorf("at %d ± %d: got %v, want both trials at %d", c.steps, c.margin, trials, c.want)
		}
	}
}

func TestSnapshotSplitsMessages(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	for _, trial := range s.cfg.Experiments.(*ended).trials {
		trial.Hparams["text"] = strings.Repeat("x", messageBytes)
	}
	got := all(t, func(send func(*apiv1.TrialsSnapshotResponse) error) error {
		return s.Snapshot(t.Context(), &apiv1.TrialsSnapshotRequest{ExperimentId: 1, MetricName: "loss", Group: "validation", BatchesProcessed: 20}, send)
	})
	if len(got) != 2 || len(got[0].GetTrials()) != 1 || got[1].GetTrials()[0].GetTrialId() != 2 {
		t.Errorf("got %d messages, want one with each of the two trials", len(got))
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	got := all(t, func(send func(*apiv1.TrialsSampleResponse) error) error {
		return s.Sample(t.Context(), &apiv1.TrialsSampleRequest{ExperimentId: 1, MetricName: "loss", Group: "validation", MaxTrials: 1, MaxDatapoints: 4, StartBatches: 20, EndBatches: 90}, send)
	})
	if len(got) != 1 || len(got[0].GetTrials()) != 1 || !slices.Equal(got[0].GetPromotedTrials(), []int32{2}) {
		t.Fatalf("got %v, want the better trial", got)
	}
	data := got[0].GetTrials()[0].GetData()
	if len(data) != 4 || data[0].GetBatches() != 20 || data[3].GetBatches() != 90 || data[0].GetEpoch() != 2 || data[0].GetValues().GetFields()["loss"].GetNumberValue() != 1 {
		t.Errorf("got %v, want 4 points from 20 to 90", data)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	show := func(_ context.Context, id int32) (*apiv1.Trial, error) { return &apiv1.Trial{Id: id}, nil }
	got, err := s.Compare(t.Context(), &apiv1.CompareTrialsRequest{TrialIds: []int32{1, 2}, MetricIds: []string{"training.loss", "validation.epoch", "validation.loss"}}, show)
	if err != nil || len(got.GetTrials()) != 2 {
		t.Fatalf("got %v, %v, want two trials", got, err)
	}
	one := got.GetTrials()[0]
	if len(one.GetMetrics()) != 2 || one.GetMetrics()[0].GetType() != apiv1.MetricType_METRIC_TYPE_TRAINING || one.GetMetrics()[0].GetData()[0].GetValues().GetFields()["loss"].GetStringValue() != "NaN" {
		t.Errorf("got %v, want training, with its NaN, and validation", one.GetMetrics())
	}
	if v := one.GetMetrics()[1].GetData(); len(v) != 10 || len(v[0].GetValues().GetFields()) != 2 {
		t.Errorf("got %v, want 10 points with both values", v)
	}
	for _, q := range []*apiv1.CompareTrialsRequest{{}, {TrialIds: []int32{1}}, {TrialIds: []int32{1}, MetricIds: []string{"loss"}}, {TrialIds: []int32{1}, MetricNames: []string{"loss"}, StartBatches: 9, EndBatches: 3}} {
		if _, err := s.Compare(t.Context(), q, show); status.Of(err) != status.InvalidArgument {
			t.Errorf("%v: got %v, want it refused", q, err)
		}
	}
}

func TestValidationHistory(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	got, err := s.ValidationHistory(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var trials []int32
	for _, e := range got.GetValidationHistory() {
		trials = append(trials, e.GetTrialId())
	}
	// Each validation of the first trial is better than the one before; the second trial starts
	// worse.
	if want := []int32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2}; !slices.Equal(trials[:10], want[:10]) || trials[len(trials)-1] != 2 {
		t.Errorf("got the trials %v, want first 1, then 2", trials)
	}
	if _, err := s.ValidationHistory(t.Context(), 9); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want that there is no experiment 9", err)
	}
}

func TestDownsample(t *testing.T) {
	t.Parallel()
	var points []point
	for i := range int64(1000) {
		points = append(points, point{steps: i, value: math.Sin(float64(i) / 50)})
	}
	points[400].value = 100
	points[700].value = math.NaN()
	for _, most := range []int{0, 1, 2, 3, 10, 100, 999, 1000, 2000} {
		got := downsample(points, most)
		if want := min(most, len(points)); len(got) > want || len(got) < want-2 {
			t.Errorf("at most %d: got %d points, want %d", most, len(got), want)
		}
		if !slices.IsSortedFunc(got, func(a, b point) int { return int(a.steps - b.steps) }) {
			t.Errorf("at most %d: the points are not in order", most)
		}
		if most >= 10 && (!slices.ContainsFunc(got, func(p point) bool { return p.steps == 400 }) || !slices.ContainsFunc(got, func(p point) bool { return p.steps == 700 }) || got[0].steps != 0 || got[len(got)-1].steps != 999) {
			t.Errorf("at most %d: the ends, the peak or what is not a number is missing", most)
		}
	}
}

func TestDownsampleKeepsTheExtremes(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		points := make([]point, 6+r.IntN(3000))
		for i := range points {
			points[i] = point{steps: int64(i), value: r.NormFloat64()}
			if r.IntN(50) == 0 {
				points[i].value = math.NaN()
			}
		}
		most := 5 + r.IntN(len(points))
		got := downsample(points, most)
		if len(got) > most {
			t.Fatalf("seed %d: got %d points, want at most %d", seed, len(got), most)
		}
		for _, want := range extremes(points) {
			if !slices.ContainsFunc(got, func(p point) bool { return p.steps == want.steps }) {
				t.Fatalf("seed %d: %d of %d points lack the extreme value of step %d", seed, most, len(points), want.steps)
			}
		}
	}
	if got := downsample(slices.Repeat([]point{{value: math.NaN()}}, 100), 50); len(got) > 50 {
		t.Errorf("got %d points without a number, want at most 50", len(got))
	}
}

func TestImprovements(t *testing.T) {
	t.Parallel()
	var list []validation
	for i, x := range []float64{5, 7, math.NaN(), 4, 4, 6, 8, 1} {
		list = append(list, validation{int32(i), point{steps: 1, value: x, at: time.Unix(int64(i), 0)}})
	}
	values := func(list []validation) (got []float64) {
		for _, v := range list {
			got = append(got, v.value)
		}
		return got
	}
	if d := cmp.Diff(values(improvements(list, true)), []float64{5, 4, 1}); d != "" {
		t.Errorf("smaller is better (-got +want):\n%s", d)
	}
	if d := cmp.Diff(values(improvements(list, false)), []float64{5, 7, 8}); d != "" {
		t.Errorf("larger is better (-got +want):\n%s", d)
	}
}
