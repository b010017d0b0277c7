package metric_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// openCounted opens metrics with a quota.
func openCounted(t *testing.T, cfg store.Config) (*store.Store, *metric.Metrics, *quota.Quota) {
	t.Helper()
	s := storetest.Open(t, cfg)
	m, q := limit(t, s, 0)
	return s, m, q
}

func limit(t *testing.T, s *store.Store, bytes int64) (*metric.Metrics, *quota.Quota) {
	t.Helper()
	q, err := quota.Open(t.Context(), s, bytes)
	if err != nil {
		t.Fatal(err)
	}
	m := metric.Open(s)
	m.LimitUsers(q)
	return m, q
}

// checkCounted compares the counted with the stored size, before and after the deletion of the
// trial.
func checkCounted(t *testing.T, s *store.Store, m *metric.Metrics, cfg store.Config) {
	t.Helper()
	counted := func() int64 {
		t.Helper()
		q, err := quota.Open(t.Context(), s, 0)
		if err != nil {
			t.Fatal(err)
		}
		return q.Stored(7)[quota.Metrics]
	}
	sizes, err := store.MetricBytesByTrial(t.Context(), s)
	if got := counted(); err != nil || got != sizes[7] || got == 0 {
		t.Fatalf("counted %d bytes, stored are %v, %v", got, sizes, err)
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return m.Delete(tx, 7, 7) }); err != nil {
		t.Fatal(err)
	}
	if got := counted(); got != 0 {
		t.Fatalf("of a deleted trial %d bytes are counted", got)
	}
}

func TestQuotaExceeded(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	m, q := limit(t, s, 100)
	first := report(1, 0, "training", 1, map[string]any{"text": strings.Repeat("x", 100)})
	first.Owner = quota.User{ID: 7, Name: "ann"}
	if _, err := put(t, s, m, first); err != nil {
		t.Fatal(err)
	}
	next := report(1, 0, "training", 2, map[string]any{"loss": 1})
	next.Owner = first.Owner
	_, err := put(t, s, m, next)
	if status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), "user ann stores") || !strings.Contains(err.Error(), "(metrics ") {
		t.Errorf("got %v", err)
	}
	if got := len(averages(t, s, "training")); got != 1 {
		t.Errorf("got %d reports, want the first alone", got)
	}
	next.Owner = quota.User{ID: 8, Name: "bob"}
	if _, err := put(t, s, m, next); err != nil {
		t.Errorf("another user: got %v", err)
	}
	if q.Stored(7)[quota.Metrics] < 100 || q.Stored(8)[quota.Metrics] == 0 {
		t.Errorf("got %v and %v", q.Stored(7), q.Stored(8))
	}
}
