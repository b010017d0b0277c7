package plan_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/installer/plan"
)

func TestWalkSkipsDependentsOfFailures(t *testing.T) {
	t.Parallel()
	errB := errors.New("b")
	nodes := []plan.Node{{ID: "a"}, {ID: "b"}, {ID: "c", Needs: []string{"b"}}, {ID: "d", Needs: []string{"a"}}, {ID: "e", Needs: []string{"c"}}}
	got := plan.Walk(t.Context(), nodes, 2, func(_ context.Context, i int) error {
		if nodes[i].ID == "b" {
			return errB
		}
		return nil
	})
	for i, want := range []error{nil, errB, plan.ErrNotTried, nil, plan.ErrNotTried} {
		if !errors.Is(got[i], want) {
			t.Errorf("%s: got %v, want %v", nodes[i].ID, got[i], want)
		}
	}
}

func TestWalkFinishesRunningVisits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var visited []string
	nodes := []plan.Node{{ID: "a"}, {ID: "b"}}
	got := plan.Walk(ctx, nodes, 1, func(_ context.Context, i int) error {
		cancel()
		visited = append(visited, nodes[i].ID)
		return nil
	})
	if d := cmp.Diff(visited, []string{"a"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if got[0] != nil || !errors.Is(got[1], plan.ErrNotTried) {
		t.Errorf("got %v, want the first done and the second not tried", got)
	}
}

// For any graph and limit, each node is visited once, after its needs, and no more than limit at a
// time.
func TestWalkKeepsOrderAndLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		nodes := make([]plan.Node, n)
		at := make(map[string]int)
		for i := range nodes {
			nodes[i].ID = string(rune('a' + i))
			at[nodes[i].ID] = i
			for j := range i {
				if rapid.Bool().Draw(t, "edge") {
					nodes[i].Needs = append(nodes[i].Needs, nodes[j].ID)
				}
			}
		}
		var running atomic.Int32
		done := make([]atomic.Int32, n)
		errs := plan.Walk(context.Background(), nodes, limit, func(_ context.Context, i int) error { //nolint:forbidigo // rapid.T has no context
			if got := running.Add(1); got > int32(limit) {
				t.Errorf("got %d at a time, want at most %d", got, limit)
			}
			defer running.Add(-1)
			for _, need := range nodes[i].Needs {
				if done[at[need]].Load() != 1 {
					t.Errorf("%s came before %s", nodes[i].ID, need)
				}
			}
			done[i].Add(1)
			return nil
		})
		for i := range nodes {
			if errs[i] != nil || done[i].Load() != 1 {
				t.Errorf("%s: got %v and %d visits, want one", nodes[i].ID, errs[i], done[i].Load())
			}
		}
	})
}
