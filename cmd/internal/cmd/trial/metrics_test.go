package trial

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func toStruct(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMetricsInATable(t *testing.T) {
	t.Parallel()
	summary := toStruct(t, map[string]any{
		"validation_metrics": map[string]any{"loss": map[string]any{"type": "number", "count": 3, "last": "NaN", "min": 0.123456789, "max": 2, "mean": "NaN"}},
		"avg_metrics":        map[string]any{"note": map[string]any{"type": "string", "count": 1, "last": "warm"}},
	})
	_, rows := tabulateSummary(summary).Lines()
	for i, want := range []string{"training note 1 warm - - -", "validation loss 3 NaN 0.123457 2 NaN"} {
		if i >= len(rows) || strings.Join(strings.Fields(rows[i]), " ") != want {
			t.Errorf("line %d: got %q, want %q", i, rows, want)
		}
	}
	at := timestamppb.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	head, rows := tabulateReports([]*apiv1.MetricsReport{
		{TotalBatches: 10, EndTime: at, Metrics: toStruct(t, map[string]any{"validation_metrics": map[string]any{"loss": 0.5}})},
		{TotalBatches: 20, EndTime: at, Metrics: toStruct(t, map[string]any{"validation_metrics": map[string]any{"per_class": []any{1, 2}}})},
	}).Lines()
	if got := strings.Fields(head); strings.Join(got, " ") != "STEPS REPORTED loss per_class" {
		t.Errorf("got the columns %q", got)
	}
	if len(rows) != 2 || !strings.Contains(rows[0], " 0.5") || !strings.Contains(rows[1], "[1,2]") || strings.Contains(rows[1], "0.5") {
		t.Errorf("got %q, want each value in the line of its report", rows)
	}
}
