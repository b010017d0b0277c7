package metric_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func values(prefix string, n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprint(prefix, i)] = 1.0
	}
	return out
}

func TestNameLimits(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	m := metric.Open(s)
	accept := func(group string, steps int64, averages map[string]any) {
		t.Helper()
		if _, err := put(t, s, m, report(1, 0, group, steps, averages)); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(text string, r metric.Report) {
		t.Helper()
		if _, err := put(t, s, m, r); !errors.Is(err, metric.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want an error with %q", err, text)
		}
	}
	accept("training", 1, values("a", 600))
	accept("validation", 1, values("b", 339))
	for i := range 61 {
		accept(fmt.Sprint("g", i), 1, values("c", 1))
	}
	accept("cpu", 1, nil)
	for range 2 { // also after a restart of the master
		accept("training", 2, values("a", 600))
		refuse(`a trial has at most 1000 names, and with "d0" it would have 1001`, report(1, 0, "training", 3, values("d", 1)))
		refuse(`a trial has at most 64 groups, and "more" would be one more`, report(1, 0, "more", 3, values("a", 1)))
		batches := report(1, 0, "training", 4, nil)
		batches.Values.Batches = []map[string]any{{"e": 1.0}}
		refuse(`with "e" it would have 1001`, batches)
		m = metric.Open(s)
	}
	if got := averages(t, s, "training"); len(got) != 2 {
		t.Errorf("got reports of %d steps, want those that were accepted", len(got))
	}
	summary, err := m.Summary(t.Context(), 7)
	if err != nil || len(summary["training"]) != 600 {
		t.Errorf("got %d names, %v; want 600", len(summary["training"]), err)
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return m.Delete(tx, 7, 0) }); err != nil {
		t.Fatal(err)
	}
	accept("anew", 1, values("z", 1_000))
}

// asEarlier deletes the names of a trial, as if an earlier version had stored its reports.
func asEarlier(t *testing.T, s *store.Store) *metric.Metrics {
	t.Helper()
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return store.Collection[any]{Kind: "metric_names"}.Delete(tx, "7") }); err != nil {
		t.Fatal(err)
	}
	return metric.Open(s)
}

func TestSummaryNameLimit(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	m := metric.Open(s)
	for i, prefix := range []string{"a", "b"} {
		if _, err := put(t, s, m, report(1, 0, "training", int64(i+1), values(prefix, 900))); err != nil {
			t.Fatal(err)
		}
		m = asEarlier(t, s)
	}
	long := metric.Summary{"training": {}}
	for name := range values("c", 2_000) {
		long["training"][name] = metric.Stat{Type: metric.NumberType, Count: 1}
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		return store.Collection[metric.Summary]{Kind: "metric_summary"}.Put(tx, "7", "", time.Time{}, long)
	}); err != nil {
		t.Fatal(err)
	}
	first, err := m.Summary(t.Context(), 7)
	if err != nil || len(first["training"]) != 1_000 || first["training"]["a7"].Count != 1 {
		t.Fatalf("got %d names, %v; want the first 1,000", len(first["training"]), err)
	}
	again, err := metric.Open(s).Summary(t.Context(), 7)
	if err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("got %d names, %v; want the same ones again", len(again["training"]), err)
	}
}

func TestSummaryOmitsLongValues(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	m := metric.Open(s)
	text := strings.Repeat("x", 5_000)
	averages := map[string]any{"text": text, "list": []any{text}, "short": "x", "loss": 0.5}
	if _, err := put(t, s, m, report(1, 0, "training", 1, averages)); err != nil {
		t.Fatal(err)
	}
	got, err := m.Summary(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	training := got["training"]
	if training["text"].Last != nil || training["text"].Type != metric.Text || training["list"].Last != nil || training["list"].Type != metric.Array {
		t.Errorf("got %.100v, want types without values", training)
	}
	if training["short"].Last != "x" || training["loss"].Last != 0.5 {
		t.Errorf("got %.100v, want short values", training)
	}
}
