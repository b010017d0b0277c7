package compare

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

func object(t testing.TB, v map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReadIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int32{
		"": nil, "ids=7": {7}, "ids=7&ids=12": {7, 12}, "ids=7,12, 7": {7, 12}, "ids=1,2,3,4,5,6,7,8,9,10": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"ids=1,2,3,4,5,6,7,8,9,10,11": nil, "ids=x": nil, "ids=-1": nil, "ids=99999999999": nil,
	} {
		q, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readIDs(q)
		if d := cmp.Diff(got, want); d != "" || (err == nil) != (want != nil || text == "") {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	const hostile = pagetest.Hostile
	trial := &apiv1.Trial{Id: 3, ExperimentId: 7, Hparams: object(t, map[string]any{hostile: hostile, "depth": 50}), SummaryMetrics: object(t, map[string]any{"validation_metrics": map[string]any{hostile: map[string]any{"type": "number"}}})}
	other := &apiv1.Trial{Id: 4, ExperimentId: 8}
	curves := []*apiv1.DownsampledMetrics{{Group: "validation", Data: []*apiv1.DataPoint{{Batches: 5, Values: object(t, map[string]any{hostile: 0.5})}}}}
	x := func(id, trial int32, lr any) string {
		return pagetest.JSON(t, &apiv1.GetExperimentResponse{
			Experiment: &apiv1.Experiment{Id: id, Name: hostile, Username: hostile, SearcherMetric: hostile, BestTrialId: &trial},
			Config:     object(t, map[string]any{"hyperparameters": map[string]any{hostile: lr}, "same": 1}), Usage: &apiv1.ResourceUsage{Costs: []*apiv1.Cost{{Currency: "EUR", Amount: 2}}},
		})
	}
	site := pagetest.New(t, Pages(), pagetest.API{
		"GET /api/v1/experiments/7": x(7, 3, hostile), "GET /api/v1/experiments/8": x(8, 4, 2),
		"GET /api/v1/trials/3": pagetest.JSON(t, &apiv1.GetTrialResponse{Trial: trial}), "GET /api/v1/trials/4": pagetest.JSON(t, &apiv1.GetTrialResponse{Trial: other}),
		"GET /api/v1/trials/time-series": pagetest.JSON(t, &apiv1.CompareTrialsResponse{Trials: []*apiv1.ComparableTrial{{Trial: trial, Metrics: curves}, {Trial: other}}}),
	})
	page := site.Get("/det/compare?ids=7&ids=8", http.StatusOK)
	site.WantEscaped(page)
	site.WantTexts(page, "2.00 EUR", "<td><bdi>2</bdi></td>", "ids=7&amp;ids=8")
	site.WantTexts(page, "trials differ", "<bdi>depth</bdi></th><td><bdi>50</bdi></td><td><bdi></bdi></td>", "/det/experiments/8/trials/4")
	site.WantNone(page, "<bdi>same</bdi>")
	site.WantTexts(site.Get("/det/compare/curves.json?ids=7,8", http.StatusOK), `"x":[5],"y":[0.5]`, `"live":true`)
	site.WantEscaped(site.Get("/det/compare/curves.svg?ids=7,8", http.StatusOK))
	site.WantTexts(site.Get("/det/compare/curves.csv?ids=7,8", http.StatusOK), ",5,0.5,")
	site.WantTexts(site.Get("/det/compare", http.StatusOK), "Mark experiments in the")
	site.WantTexts(site.Get("/det/compare/curves.json", http.StatusOK), `"curves":[]`)
	site.WantTexts(site.Get("/det/compare?ids=9", http.StatusNotFound), "not found")
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	configs := []map[string]*structpb.Value{
		object(t, map[string]any{"seed": 12345678, "same": 1, "none": nil, "long": long}).GetFields(),
		object(t, map[string]any{"seed": 12345679, "same": 1, "long": long + "y"}).GetFields(),
	}
	var names []string
	for _, d := range differences(configs) {
		names = append(names, d.Name)
	}
	if d := cmp.Diff(names, []string{"long", "seed"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}
