package experiment

import (
	"fmt"
	"math"
	"net/http"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/pagetest"
)

// A page with a thousand trials has at most 100 kB.
func TestPagesAreSmall(t *testing.T) {
	t.Parallel()
	const pageBytes = 100_000
	vary := map[string]any{}
	for _, name := range []string{"lr", "momentum", "decay", "width", "depth", "dropout"} {
		vary[name] = map[string]any{"type": "double"}
	}
	list := &apiv1.GetExperimentTrialsResponse{Pagination: &apiv1.Pagination{Total: mostDrawn}}
	for i := range mostDrawn {
		x := float64(i)
		list.Trials = append(list.Trials, &apiv1.Trial{
			Id: 10_000 + int32(i), ExperimentId: 7, State: apiv1.Trial_STATE_COMPLETED, SearcherMetricValue: wrapperspb.Double(math.Abs(math.Sin(x))),
			Reason: "stopped at 16 epochs: 0.994542 is 4th of 5, 2 continue", TotalBatchesProcessed: 123456, CheckpointCount: 3, TotalCheckpointSize: 1 << 30,
			Hparams: object(t, map[string]any{"lr": math.Cos(x), "momentum": math.Sin(2 * x), "decay": math.Sin(3 * x), "width": x, "depth": math.Mod(x, 7), "dropout": math.Sin(5 * x)}),
		})
	}
	known := answers(t)
	known["GET /api/v1/experiments/7"] = pagetest.JSON(t, &apiv1.GetExperimentResponse{
		Experiment: &apiv1.Experiment{Id: 7, Name: "search", UserId: 2, SearcherMetric: "loss", NumTrials: mostDrawn}, Config: object(t, map[string]any{"hyperparameters": vary}),
	})
	known["GET /api/v1/experiments/7/trials"] = pagetest.JSON(t, list)
	history := &apiv1.GetExperimentHistoryResponse{Pagination: &apiv1.Pagination{Total: 5000}}
	for i := range eventsOfPage {
		history.Events = append(history.Events, &apiv1.ExperimentEvent{TrialId: new(int32(i)), Text: fmt.Sprintf("trial %d reported 0.994542 at step 1600; trial %d was stopped at 16 epochs: 0.994542 is 4th of 5, 2 continue", i, i)})
	}
	known["GET /api/v1/experiments/7/history"] = pagetest.JSON(t, history)
	site := pagetest.New(t, Pages(), known)
	for _, path := range []string{"/hyperparameters", "/search"} {
		if n := len(site.Get("/det/experiments/7"+path, http.StatusOK)); n > pageBytes {
			t.Errorf("%s has %d bytes", path, n)
		}
	}
	known["GET /api/v1/experiments/7/trials"] = pagetest.JSON(t, &apiv1.GetExperimentTrialsResponse{Trials: list.GetTrials()[:trialsOfPage], Pagination: list.GetPagination()})
	if n := len(pagetest.New(t, Pages(), known).Get("/det/experiments/7", http.StatusOK)); n > pageBytes {
		t.Errorf("the overview has %d bytes", n)
	}
}
