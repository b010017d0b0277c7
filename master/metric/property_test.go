package metric_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/postgrestest"
)

// history returns reports of the runs of a trial. Each value is a function of its keys.
func history(r *rand.Rand) []metric.Report {
	var all []metric.Report
	base, reached := int64(0), int64(0)
	for run := range int64(1 + r.IntN(4)) {
		if run > 0 {
			base = min(base+r.Int64N(reached-base+1), reached)
		}
		reached = base
		for range 1 + r.IntN(8) {
			reached += r.Int64N(3)
			group := []string{"training", "validation", "mine", "cpu"}[r.IntN(4)]
			for name := range 1 + r.IntN(3) {
				all = append(all, report(run+1, base, group, reached, map[string]any{
					fmt.Sprint("m", name): float64(1000*(run+1) + 10*reached + int64(name)),
				}))
			}
		}
	}
	return all
}

// rowsOf returns the expected rows after all reports, for any order and repetition.
func rowsOf(reports []metric.Report) map[string]map[int64]map[string]any {
	groups := map[string]map[int64]map[string]any{}
	inOrder := slices.SortedStableFunc(slices.Values(reports), func(a, b metric.Report) int { return int(a.Run - b.Run) })
	for _, r := range inOrder {
		replaced := slices.ContainsFunc(reports, func(o metric.Report) bool {
			return o.Run > r.Run && (r.Steps > o.Base || r.Group == "cpu")
		})
		if replaced {
			continue
		}
		if groups[r.Group] == nil {
			groups[r.Group] = map[int64]map[string]any{}
		}
		if groups[r.Group][r.Steps] == nil {
			groups[r.Group][r.Steps] = map[string]any{}
		}
		maps.Copy(groups[r.Group][r.Steps], r.Values.Averages)
	}
	return groups
}

// summaryOf returns the counts, sums, extremes and last values of rows.
func summaryOf(groups map[string]map[int64]map[string]any) map[string]string {
	all := map[string]string{}
	for group, steps := range groups {
		if group == "cpu" {
			continue
		}
		stats := map[string][]float64{}
		for _, step := range slices.Sorted(maps.Keys(steps)) {
			for name, value := range steps[step] {
				stats[name] = append(stats[name], value.(float64)) //nolint:forcetypeassert // history writes nothing else
			}
		}
		for name, values := range stats {
			sum := 0.0
			for _, v := range values {
				sum += v
			}
			all[group+"."+name] = fmt.Sprint(len(values), sum, slices.Min(values), slices.Max(values), values[len(values)-1])
		}
	}
	return all
}

func shownSummary(s metric.Summary) map[string]string {
	all := map[string]string{}
	for group, stats := range s {
		for name, stat := range stats {
			all[group+"."+name] = fmt.Sprint(stat.Count, stat.Sum, stat.Min, stat.Max, stat.Last)
		}
	}
	return all
}

var errGone = errors.New("the connection is gone")

// deliver stores reports in random order, some more than once, some after a failed transaction, with
// restarts of the master in between.
func deliver(t *testing.T, r *rand.Rand, cfg store.Config, reports []metric.Report) (*store.Store, *metric.Metrics) {
	t.Helper()
	s, m, _ := openCounted(t, cfg)
	pending := slices.Clone(reports)
	for range r.IntN(len(pending) + 1) {
		pending = append(pending, reports[r.IntN(len(reports))])
	}
	r.Shuffle(len(pending), func(i, j int) { pending[i], pending[j] = pending[j], pending[i] })
	for len(pending) > 0 {
		if r.IntN(10) == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, m, _ = openCounted(t, cfg)
		}
		n := 1 + r.IntN(min(3, len(pending)))
		fails := r.IntN(4) == 0
		err := s.Write(t.Context(), func(tx *store.Tx) error { return putAll(t.Context(), tx, m, pending[:n], fails) })
		if fails != errors.Is(err, errGone) || (!fails && err != nil) {
			t.Fatal(err)
		}
		if r.IntN(3) == 0 {
			if _, err := m.Summary(t.Context(), 7); err != nil {
				t.Fatal(err)
			}
		}
		if !fails {
			pending = pending[n:]
		}
	}
	return s, m
}

func putAll(ctx context.Context, tx *store.Tx, m *metric.Metrics, reports []metric.Report, fails bool) error {
	for _, r := range reports {
		if _, err := m.Put(ctx, tx, r); err != nil && !errors.Is(err, metric.ErrReplaced) {
			return err
		}
	}
	if fails {
		return errGone
	}
	return nil
}

func checkAnyOrder(t *testing.T, seeds int, fresh func() store.Config) {
	t.Helper()
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 1))
		reports := history(r)
		for i := range reports {
			reports[i].Owner = quota.User{ID: 7, Name: "ann"}
		}
		cfg := fresh()
		s, m := deliver(t, r, cfg, reports)
		want := rowsOf(reports)
		got := map[string]map[int64]map[string]any{}
		for group := range want {
			got[group] = averages(t, s, group)
		}
		groups, err := metric.Groups(t.Context(), s, 7)
		if err != nil || !slices.Equal(groups, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("seed %d: got groups %v and %v, want %v", seed, groups, err, slices.Sorted(maps.Keys(want)))
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Fatalf("seed %d (-got +want):\n%s", seed, d)
		}
		summary, err := m.Summary(t.Context(), 7)
		if d := cmp.Diff(shownSummary(summary), summaryOf(want)); err != nil || d != "" {
			t.Fatalf("seed %d: summary: %v (-got +want):\n%s", seed, err, d)
		}
		checkCounted(t, s, m, cfg)
	}
}

func TestAnyOrderOfReportsGivesTheSameRows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	checkAnyOrder(t, 60, func() store.Config {
		n++
		return store.Config{Path: filepath.Join(dir, fmt.Sprint(n), "store.db")}
	})
}

// The store's contract has no rows of metrics.
func TestAnyOrderOfReportsGivesTheSameRowsInPostgres(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Options{})
	checkAnyOrder(t, 4, func() store.Config { return store.Config{URL: store.URL(server.URL())} })
}
