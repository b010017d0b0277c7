package quota_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, s *store.Store, limit int64) *quota.Quota {
	t.Helper()
	q, err := quota.Open(t.Context(), s, limit)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func ann() quota.User { return quota.User{ID: 7, Name: "ann"} }

func TestQuotaErrorNamesUserUsageAndRemedy(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	q := open(t, s, 100<<30)
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		q.Add(tx, 7, quota.Metrics, 10<<30)
		q.Add(tx, 7, quota.Logs, 80<<30)
		q.Add(tx, 7, quota.Definitions, 512)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Check(ann(), 10<<30-512); err != nil {
		t.Errorf("up to the limit: got %v", err)
	}
	err = q.Check(ann(), 11<<30)
	want := "user ann stores 90.0 GiB, and with 11.0 GiB more it would be above the limit security.limits.stored_bytes_per_user of 100.0 GiB " +
		"(logs 80.0 GiB, metrics 10.0 GiB, model definitions 512 bytes); delete experiments that are no longer needed (`det experiment delete ID`)"
	if status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := open(t, s, 90<<30).Check(ann(), 0); err == nil || !strings.Contains(err.Error(), "user ann stores 90.0 GiB, which reaches the limit") {
		t.Errorf("opened again with a lower limit: got %v", err)
	}
	for name, other := range map[string]*quota.Quota{"no limit": open(t, s, 0), "no quota": nil} {
		if err := other.Check(ann(), 1<<50); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := q.Check(quota.User{ID: 8, Name: "bob"}, 1<<30); err != nil {
		t.Errorf("another user: got %v", err)
	}
}

func TestAddCountsOnCommit(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	q := open(t, s, 0)
	mine := errors.New("mine")
	for _, fails := range []error{nil, mine, nil} {
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			q.Add(tx, 7, quota.Logs, 5)
			q.Add(tx, 0, quota.Logs, 5) // of an unknown user
			return fails
		})
		if !errors.Is(err, fails) {
			t.Fatal(err)
		}
	}
	want := map[quota.Kind]int64{quota.Logs: 10}
	for name, q := range map[string]*quota.Quota{"in memory": q, "opened again": open(t, s, 0)} {
		if d := cmp.Diff(want, q.Stored(7)); d != "" || len(q.Stored(0)) > 0 {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

func TestCountOfEarlierVersionsIsRetriedUntilSuccess(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	mine := errors.New("mine")
	for _, fails := range []error{mine, nil, nil} {
		err := open(t, s, 0).Count(t.Context(), quota.Metrics, "trials", func(context.Context) (map[int32]int64, error) {
			return map[int32]int64{7: 3}, fails
		})
		if !errors.Is(err, fails) {
			t.Fatal(err)
		}
	}
	if got := open(t, s, 0).Stored(7)[quota.Metrics]; got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}
