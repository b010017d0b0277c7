package metric_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func put(t *testing.T, s *store.Store, m *metric.Metrics, r metric.Report) (stored metric.Stored, err error) {
	t.Helper()
	err = s.Write(t.Context(), func(tx *store.Tx) (err error) {
		stored, err = m.Put(t.Context(), tx, r)
		return err
	})
	return stored, err
}

func report(run, base int64, group string, steps int64, averages map[string]any) metric.Report {
	return metric.Report{
		Trial: 7, Run: run, Base: base, Group: group, Steps: steps, At: time.Unix(steps, 0).UTC(),
		Values: metric.Values{Averages: averages},
	}
}

func averages(t *testing.T, s *store.Store, group string) map[int64]map[string]any {
	t.Helper()
	all := map[int64]map[string]any{}
	for r, err := range metric.Read(t.Context(), s, 7, group, -1) {
		if err != nil {
			t.Fatal(err)
		}
		all[r.Steps] = r.Values.Averages
	}
	return all
}

func TestPutSameStep(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	m := metric.Open(s)
	for i, c := range []struct {
		sent  map[string]any
		added map[string]any
		err   error
	}{
		{map[string]any{"loss": 0.5, "n": 3}, map[string]any{"loss": 0.5, "n": 3.0}, nil},
		{map[string]any{"loss": 0.5, "n": 3.0}, map[string]any{}, nil},
		{map[string]any{"acc": math.NaN(), "loss": 0.5}, map[string]any{"acc": "NaN"}, nil},
		{map[string]any{"acc": "NaN", "up": math.Inf(1), "down": math.Inf(-1)}, map[string]any{"up": "Infinity", "down": "-Infinity"}, nil},
		{map[string]any{"loss": 0.4, "new": 1}, nil, metric.ErrConflict},
		{map[string]any{}, map[string]any{}, nil},
	} {
		stored, err := put(t, s, m, report(1, 0, "training", 10, c.sent))
		if !errors.Is(err, c.err) || (err == nil && (!cmp.Equal(stored.Added.Averages, c.added) || stored.News() != (len(c.added) > 0))) {
			t.Errorf("report %d: got %v, %v, want %v, %v", i, stored.Added.Averages, err, c.added, c.err)
		}
		if err != nil && !strings.Contains(err.Error(), `loss has the value 0.5, which cannot be changed to 0.4`) {
			t.Errorf("report %d: got %v, want a sentence with both values", i, err)
		}
	}
	want := map[int64]map[string]any{10: {"loss": 0.5, "n": 3.0, "acc": "NaN", "up": "Infinity", "down": "-Infinity"}}
	if d := cmp.Diff(averages(t, s, "training"), want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
}
