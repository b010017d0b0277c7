package metric_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/store/storetest"
)

func values(prefix string, n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprint(prefix, i)] = 1.0
	}
	return out
}

func TestTheNamesAndGroupsOfATrialAreBoundedOverAllItsReports(t *testing.T) {
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
			t.Errorf("got %v, want a refusal that says %q", err, text)
		}
	}
	accept("training", 1, values("a", 600))
	accept("validation", 1, values("b", 339))
	for i := range 61 {
		accept(fmt.Sprint("g", i), 1, values("c", 1))
	}
	accept("cpu", 1, nil)
	for range 2 { // a master that starts again knows them
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
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return m.Delete(tx, 7) }); err != nil {
		t.Fatal(err)
	}
	accept("anew", 1, values("z", 1_000))
}
