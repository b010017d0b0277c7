package experiment

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/hparam"
	"github.com/det-deploy/det-deploy/master/pages/ui"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

func TestSearchAndHyperparameters(t *testing.T) {
	t.Parallel()
	known := answers(t)
	known["GET /api/v1/experiments/7/history"] = pagetest.JSON(t, &apiv1.GetExperimentHistoryResponse{
		Events: []*apiv1.ExperimentEvent{
			{Time: timestamppb.New(time.Unix(0, 0)), Username: hostile, Text: "the first " + hostile}, {Time: timestamppb.New(time.Unix(1, 0)), TrialId: new(int32(3)), Text: "the second"},
		},
		Rungs: []*apiv1.SearchRung{{Places: []*apiv1.SearchPlace{
			{TrialId: 3, Length: new(4.0), Metric: new(0.25), GoesOn: true}, {TrialId: 4, Length: new(4.0), Metric: new(0.5)}, {TrialId: 5},
		}}},
		Pagination: &apiv1.Pagination{Total: 250},
	})
	known["GET /api/v1/experiments/7/trials"] = pagetest.JSON(t, &apiv1.GetExperimentTrialsResponse{
		Trials: []*apiv1.Trial{
			{Id: 3, ExperimentId: 7, Hparams: object(t, map[string]any{hostile: 0.1}), SearcherMetricValue: wrapperspb.Double(0.25)},
			{Id: 4, ExperimentId: 7, Hparams: object(t, map[string]any{hostile: "=" + hostile}), SearcherMetricValue: wrapperspb.Double(0.5)},
			{Id: 5},
		}, Pagination: &apiv1.Pagination{Total: 3},
	})
	site := pagetest.New(t, Pages(), known)
	page := site.Get("/det/experiments/7/search", http.StatusOK)
	site.WantEscaped(page)
	site.WantTexts(page, "0.25 ✓", "1–100 of 250")
	if strings.Index(page, "the second") > strings.Index(page, "the first") {
		t.Error("the newest event is not first")
	}
	site.WantTexts(site.Get("/det/experiments/7/search?offset=200", http.StatusOK), "201–250 of 250")
	page = site.Get("/det/experiments/7/hyperparameters?hp="+url.QueryEscape(hostile), http.StatusOK)
	site.WantEscaped(page)
	site.WantTexts(page, "2 trials of 3", "1 have no validation", `class="dots"`, `class="line best"`, "/det/experiments/7/trials/3")
	site.WantTexts(site.Get("/det/experiments/7/hyperparameters.csv", http.StatusOK), "3,unspecified,0.25,0.1\n", `"'=`)
}

func TestPartFromEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ total, skipped, from, to int }{{250, 0, 150, 250}, {250, 200, 0, 50}, {250, 300, 0, 0}, {10, 0, 0, 10}} {
		if from, to := partFromEnd(tt.total, tt.skipped); from != tt.from || to != tt.to {
			t.Errorf("%+v: got %d to %d", tt, from, to)
		}
	}
}

func TestChooseSpecs(t *testing.T) {
	t.Parallel()
	var all []hparam.Spec
	for _, name := range strings.Fields("a b c d e f g h i j") {
		all = append(all, hparam.Spec{Name: name})
	}
	for text, want := range map[string]int{"": shownAtFirst, "j": 1, "x y": shownAtFirst, "a b c d e f g h i j": mostShown} {
		if got := chooseSpecs(all, strings.Fields(text)); len(got) != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// An experiment may have more trials than are drawn, with many metrics.
func TestTrialsAreReadInParts(t *testing.T) {
	t.Parallel()
	const total = mostDrawn + 234
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		if limit > trialsOfPart {
			t.Errorf("got a part of %d trials", limit)
		}
		list := &apiv1.GetExperimentTrialsResponse{Pagination: &apiv1.Pagination{Total: total}}
		for id := offset; id < min(offset+limit, total); id++ {
			list.Trials = append(list.Trials, &apiv1.Trial{Id: int32(id), SummaryMetrics: object(t, map[string]any{"loss": 1})})
		}
		_, _ = w.Write([]byte(pagetest.JSON(t, list)))
	}))
	defer api.Close()
	c, err := client.New(client.Config{URL: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	v := &ui.Visit{Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), API: c}
	all, n, err := readAllTrials(v, &apiv1.GetExperimentResponse{Experiment: &apiv1.Experiment{Id: 7}})
	if err != nil || n != total || len(all) != mostDrawn || all[mostDrawn-1].GetId() != mostDrawn-1 || all[0].GetSummaryMetrics() != nil {
		t.Errorf("got %d of %d trials, %v", len(all), n, err)
	}
}
