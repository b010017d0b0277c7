package metric_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func nested(depth int) any {
	var v any = 1.0
	for range depth {
		v = []any{v}
	}
	return v
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	many := map[string]any{}
	for i := range 1_001 {
		many[fmt.Sprint("m", i)] = 1.0
	}
	one := map[string]any{"loss": 0.5}
	s := storetest.New(t)
	m := metric.Open(s)
	for _, r := range []metric.Report{report(1, 0, "training", 50, one), report(2, 10, "training", 20, one)} {
		if _, err := put(t, s, m, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		report metric.Report
		is     error
		code   status.Code
		text   string
	}{
		{"no group", report(2, 10, "", 1, one), metric.ErrInvalid, status.InvalidArgument, "group: must have 1 to 255 bytes"},
		{"a dot", report(2, 10, "a.b", 1, one), metric.ErrInvalid, status.InvalidArgument, "group: must not contain a dot"},
		{"a zero byte", report(2, 10, "a\x00b", 1, one), metric.ErrInvalid, status.InvalidArgument, "group: must have no control characters"},
		{"a step below zero", report(2, 10, "training", -1, one), metric.ErrInvalid, status.InvalidArgument, "must not be negative (-1)"},
		{"no run", report(0, 0, "training", 1, one), metric.ErrInvalid, status.InvalidArgument, "must be positive"},
		{"too many names", report(2, 10, "training", 1, many), metric.ErrInvalid, status.InvalidArgument, "at most 1000 names in a report (1001)"},
		{"a long name", report(2, 10, "training", 1, map[string]any{strings.Repeat("n", 1025): 1.0}), metric.ErrInvalid, status.InvalidArgument, "names must have 1 to 1024 bytes"},
		{"10 MB", report(2, 10, "training", 1, map[string]any{"text": strings.Repeat("x", 10<<20)}), metric.ErrInvalid, status.InvalidArgument, "at most 4 MiB"},
		{"deep values", report(2, 10, "training", 1, map[string]any{"x": nested(40)}), metric.ErrInvalid, status.InvalidArgument, "nested deeper than 32"},
		{"what JSON has not", report(2, 10, "training", 1, map[string]any{"x": make(chan int)}), metric.ErrInvalid, status.InvalidArgument, "must be JSON values"},
		{"another value", report(2, 10, "training", 20, map[string]any{"loss": 0.4}), metric.ErrConflict, status.AlreadyExists, "loss has the value 0.5, which cannot be changed to 0.4"},
		{"a run that was replaced", report(1, 0, "training", 60, one), metric.ErrReplaced, status.FailedPrecondition, "run 1 was replaced by run 2, which continued from step 10"},
	} {
		_, err := put(t, s, m, c.report)
		if !errors.Is(err, c.is) || status.Of(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v with code %v, want %v that says %q", c.name, err, status.Of(err), c.is, c.text)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: the sentence has %d bytes", c.name, len(err.Error()))
		}
	}
	if got := averages(t, s, "training"); len(got) != 1 || got[20]["loss"] != 0.5 {
		t.Errorf("got %v, want what was stored before", got)
	}
}

// Two reports of a step with different batch metrics conflict. A report without batch metrics does
// not change those that are stored.
func TestBatchMetrics(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	m := metric.Open(s)
	r := report(1, 0, "training", 5, map[string]any{"loss": 1.0})
	with := r
	with.Values.Batches = []map[string]any{{"loss": 1.5}, {"loss": 0.5}}
	other := r
	other.Values.Batches = []map[string]any{{"loss": 1.5}}
	for i, c := range []struct {
		r    metric.Report
		news bool
		is   error
	}{{r, true, nil}, {with, true, nil}, {with, false, nil}, {r, false, nil}, {other, false, metric.ErrConflict}} {
		stored, err := put(t, s, m, c.r)
		if stored.News() != c.news || !errors.Is(err, c.is) {
			t.Errorf("report %d: got news %t, %v, want %t, %v", i, stored.News(), err, c.news, c.is)
		}
	}
	got, found, err := metric.Latest(t.Context(), s, 7, "training")
	if err != nil || !found || len(got.Values.Batches) != 2 || got.Values.Averages["loss"] != 1.0 {
		t.Errorf("got %v, %t, %v, want the averages and both batches", got, found, err)
	}
}

// A later run may report its base step again with other values: its values take precedence, and
// names that only the earlier run reported remain.
func TestBaseStep(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	m := metric.Open(s)
	for _, r := range []metric.Report{
		report(1, 0, "validation", 100, map[string]any{"loss": 0.5, "only": 1.0}),
		report(1, 0, "validation", 150, map[string]any{"loss": 0.3}),
	} {
		if _, err := put(t, s, m, r); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := put(t, s, m, report(2, 100, "validation", 100, map[string]any{"loss": 0.6}))
	if err != nil || stored.Removed != 1 || stored.Merged.Values.Averages["loss"] != 0.6 || stored.Merged.Values.Averages["only"] != 1.0 || stored.Merged.Run != 2 {
		t.Errorf("got %+v, %v, want the later run's loss beside the rest, and one row replaced", stored, err)
	}
	got, found, err := metric.At(t.Context(), s, 7, "validation", 100)
	if err != nil || !found || got.Values.Averages["loss"] != 0.6 {
		t.Errorf("got %v, %t, %v, want the later run's", got, found, err)
	}
	latest, found, err := metric.Latest(t.Context(), s, 7, "validation")
	if err != nil || !found || latest.Steps != 100 {
		t.Errorf("got %v, %t, %v, want step 100: 150 was replaced", latest, found, err)
	}
	if _, found, err := metric.At(t.Context(), s, 7, "validation", 150); err != nil || found {
		t.Errorf("got %t, %v, want nothing at 150", found, err)
	}
}
