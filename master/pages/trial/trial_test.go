package trial

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/curve"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

const hostile = pagetest.Hostile

func object(t testing.TB, v map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answers are those about trial 3 of experiment 7, with hostile texts.
func answers(t testing.TB) pagetest.API {
	t.Helper()
	number := map[string]any{"type": "number"}
	trial := &apiv1.Trial{
		Id: 3, ExperimentId: 7, State: apiv1.Trial_STATE_RUNNING, Reason: hostile, Hparams: object(t, map[string]any{hostile: hostile}),
		SummaryMetrics: object(t, map[string]any{"validation_metrics": map[string]any{hostile: number}, "avg_metrics": map[string]any{hostile: number}}),
		BestValidation: &apiv1.MetricsWorkload{TotalBatches: 5, Metrics: &apiv1.Metrics{AvgMetrics: object(t, map[string]any{hostile: 0.25})}},
	}
	checkpoint := &apiv1.Checkpoint{
		Uuid: "c1", State: apiv1.Checkpoint_STATE_COMPLETED, Resources: map[string]int64{"a": 1500, "b": 500}, Metadata: object(t, map[string]any{"steps_completed": 5}),
		Training: &apiv1.CheckpointTrainingMetadata{SearcherMetric: wrapperspb.Double(0.25)},
	}
	data := func(group string, y float64) *apiv1.DownsampledMetrics {
		return &apiv1.DownsampledMetrics{Group: group, Data: []*apiv1.DataPoint{{Batches: 5, Values: object(t, map[string]any{hostile: y})}}}
	}
	report := &apiv1.GetMetricsResponse{Metrics: []*apiv1.MetricsReport{{
		EndTime: timestamppb.New(time.UnixMilli(1796013834250)), Metrics: object(t, map[string]any{"avg_metrics": map[string]any{hostile: map[string]any{"GPU-1": map[string]any{"gpu_util": 40}}}}),
	}}}
	return pagetest.API{
		"GET /api/v1/trials/3":             pagetest.JSON(t, &apiv1.GetTrialResponse{Trial: trial, LastLines: []string{hostile}}),
		"GET /api/v1/experiments/7":        pagetest.JSON(t, &apiv1.GetExperimentResponse{Experiment: &apiv1.Experiment{Id: 7, Name: hostile, UserId: 2, SearcherMetric: hostile}}),
		"GET /api/v1/trials/3/checkpoints": pagetest.JSON(t, &apiv1.GetTrialCheckpointsResponse{Checkpoints: []*apiv1.Checkpoint{checkpoint}, Pagination: &apiv1.Pagination{Total: 1}}),
		"GET /api/v1/trials/time-series": pagetest.JSON(t, &apiv1.CompareTrialsResponse{Trials: []*apiv1.ComparableTrial{{
			Trial: trial, Metrics: []*apiv1.DownsampledMetrics{data("training", 0.75), data("validation", 0.5)},
		}}}),
		"GET /api/v1/trials/metrics/trial_metrics": `{"result":` + pagetest.JSON(t, report) + "}\n",
		"GET /checkpoints/c1":                      "the files",
		"GET /api/v1/trials/3/logs":                "",
		"POST /api/v1/trials/3/kill":               "{}",
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	const page = "/det/experiments/7/trials/3"
	site := pagetest.New(t, Pages(), answers(t))
	for path, texts := range map[string][]string{
		"":             {"0.25</strong> at 5 batches", "2 kB", page + "/checkpoints/c1", page + "/kill"},
		"/curves.json": {`"name":"validation","x":[5],"y":[0.5]`, `"name":"training","x":[5],"y":[0.75]`, `"live":true`},
		"/curves.csv":  {",time\n", "training,5,0.75,"}, "/curves.csv?smooth=90": {"(smoothed 90 %)"}, "/curves.svg": {"<svg"}, "/curves.svg?smooth=90": {"(smoothed 90 %)"},
		"/system": {"gpu_util"}, "/system/data.json": {`"y":"gpu_util (%)"`, `GPU-1","x":[1796013834.25],"y":[40]`},
		"/system/data.csv": {"1796013834.25,40,2026-11-30T04:43:54.25Z"}, "/system/data.svg?metric=nonsense": {"<svg", "seconds since 2026-11-30 04:43:54 UTC"},
		"/checkpoints/c1": {"the files"},
	} {
		body := site.Get(page+path, http.StatusOK)
		site.WantTexts(body, texts...)
		if path == "" || path == "/system" || path == "/curves.svg" || path == "/system/data.svg?metric=nonsense" {
			site.WantEscaped(body)
		}
	}
	site.WantTexts(site.Get(page+"/logs", http.StatusOK), `<a href="`+page+`/logs" aria-current="page">Log</a>`)
	site.WantTexts(site.Get(page+"/kill", http.StatusOK), "Kill trial 3?", "Steps since the latest checkpoint are lost.")
	if to := site.Post(page+"/kill", nil, http.StatusSeeOther).Header().Get("Location"); to != page {
		t.Errorf("got to %s after a kill", to)
	}
	if d := cmp.Diff(site.Sent(), []string{"POST /api/v1/trials/3/kill "}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	site := pagetest.New(t, Pages(), answers(t))
	for _, path := range []string{"/det/trials/3", "/det/trials/3/logs", "/det/trials/3/x", "/det/experiments/7/trials/3/overview"} {
		site.Get(path, http.StatusSeeOther)
	}
	for path, text := range map[string]string{
		"/det/trials/4": "not found", "/det/trials/x": "There is no trial x.", "/det/experiments/8/trials/3": "Trial 3 is not of experiment 8.",
	} {
		site.WantTexts(site.Get(path, http.StatusNotFound), text)
	}
}

func TestReadingsAreThoseThatATrialReports(t *testing.T) {
	t.Parallel()
	got := reported(&apiv1.Trial{SummaryMetrics: object(t, map[string]any{"cpu": map[string]any{}, "validation_metrics": map[string]any{}})})
	if len(got) != 1 || got[0].name != "cpu_util_simple" {
		t.Errorf("got %v", got)
	}
	if got := reported(&apiv1.Trial{}); len(got) != len(readings) {
		t.Errorf("got %v before there are reports", got)
	}
}

func TestSystemSeries(t *testing.T) {
	t.Parallel()
	at := func(second int64, v map[string]any) *apiv1.MetricsReport {
		return &apiv1.MetricsReport{EndTime: timestamppb.New(time.Unix(second, 0)), Metrics: object(t, map[string]any{"avg_metrics": v})}
	}
	reports := []*apiv1.MetricsReport{
		at(2, map[string]any{"a": map[string]any{"memory_free": 3, "other": 7}}), at(1, map[string]any{"a": map[string]any{"memory_free": 2}, "b": "x"}),
		at(3, map[string]any{"memory_free": 5}), at(4, nil),
	}
	got := systemSeries(reports, readings[3])
	want := []curve.Series{
		{Name: "a", Points: []curve.Point{{X: 1, Y: 2, At: time.Unix(1, 0).UTC()}, {X: 2, Y: 3, At: time.Unix(2, 0).UTC()}}},
		{Name: "memory_free", Points: []curve.Point{{X: 3, Y: 5, At: time.Unix(3, 0).UTC()}}},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}
