package keep_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/checkpoint/keep"
)

func metric(v float64) *float64 { return &v }

func at(n int) time.Time { return time.Unix(int64(n), 0) }

// checkpoints returns checkpoints of two trials. A smaller metric is better.
func checkpoints() []keep.Checkpoint {
	return []keep.Checkpoint{
		{UUID: "1a", Trial: 1, Steps: 1, Reported: at(1), Metric: metric(0.5), Usable: true},
		{UUID: "1b", Trial: 1, Steps: 2, Reported: at(2), Metric: metric(0.1), Usable: true},
		{UUID: "1c", Trial: 1, Steps: 3, Reported: at(3), Usable: true},
		{UUID: "2a", Trial: 2, Steps: 1, Reported: at(4), Metric: metric(0.3), Usable: true},
		{UUID: "2b", Trial: 2, Steps: 2, Reported: at(5), Metric: metric(math.NaN()), Usable: true},
		{UUID: "2c", Trial: 2, Steps: 2, Reported: at(6), Metric: metric(0.4), Usable: true},
		{UUID: "2d", Trial: 2, Steps: 9, Reported: at(7), Metric: metric(0)},
	}
}

// The report times come from the clocks of programs, which may be wrong. They only break ties.
func TestDecideIgnoresClocks(t *testing.T) {
	t.Parallel()
	policy := keep.Policy{ExperimentBest: 1, TrialBest: 1, TrialLatest: 1, SmallerIsBetter: true}
	all := slices.DeleteFunc(checkpoints(), func(c keep.Checkpoint) bool { return c.UUID == "2b" }) // ties with 2c
	want, _ := keep.Decide(policy, all)
	for range 100 {
		for i := range all {
			all[i].Reported = at(rand.IntN(1000) - 500)
		}
		if got, _ := keep.Decide(policy, all); !slices.Equal(got, want) {
			t.Fatalf("with other times %v are deleted, want %v", got, want)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		policy keep.Policy
		needs  string
		kept   string
	}{
		{"nothing is kept", keep.Policy{SmallerIsBetter: true}, "", ""},
		{"the default", keep.Policy{TrialBest: 1, TrialLatest: 1, SmallerIsBetter: true}, "", "1b 1c 2a 2c"},
		{"larger is better", keep.Policy{TrialBest: 1, SmallerIsBetter: false}, "", "1a 2c"},
		{"best of the experiment", keep.Policy{ExperimentBest: 2, SmallerIsBetter: true}, "", "1b 2a"},
		{"more than there are", keep.Policy{ExperimentBest: 99, SmallerIsBetter: true}, "", "1a 1b 2a 2c"},
		{"the latest of equals was reported last", keep.Policy{TrialLatest: 2}, "", "1b 1c 2b 2c"},
		{"what is needed", keep.Policy{}, "2d 1a", "1a 2d"},
		{"what is needed takes no place", keep.Policy{ExperimentBest: 1, SmallerIsBetter: true}, "1a", "1a 1b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := checkpoints()
			for i, c := range all {
				if strings.Contains(tt.needs, c.UUID) {
					all[i].Needs = []string{"it is version 1 of model m"}
				}
			}
			remove, kept := keep.Decide(tt.policy, all)
			var got []string
			for _, k := range kept {
				got = append(got, k.UUID)
				if len(k.Why) == 0 {
					t.Errorf("%s is kept without a reason", k.UUID)
				}
			}
			if strings.Join(got, " ") != tt.kept {
				t.Errorf("got %v kept, want %q", got, tt.kept)
			}
			if len(remove)+len(kept) != len(all) {
				t.Errorf("got %d of %d checkpoints in the answer", len(remove)+len(kept), len(all))
			}
		})
	}
}

func TestReasonsAreRanked(t *testing.T) {
	t.Parallel()
	_, kept := keep.Decide(keep.Policy{ExperimentBest: 2, TrialBest: 1, SmallerIsBetter: true}, checkpoints())
	got := strings.Join(kept[0].Why, "; ")
	if want := "1. best of the experiment; best of its trial"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The order of the checkpoints has no effect, checkpoints in use are always kept, and a policy that
// keeps more never deletes more.
func TestProperties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 14))
		all := draw(r)
		p := keep.Policy{ExperimentBest: r.IntN(4), TrialBest: r.IntN(3), TrialLatest: r.IntN(3), SmallerIsBetter: r.IntN(2) == 0}
		remove, kept := keep.Decide(p, all)
		shuffled := slices.Clone(all)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, _ := keep.Decide(p, shuffled)
		slices.Sort(remove)
		slices.Sort(again)
		if !slices.Equal(remove, again) {
			t.Fatalf("seed %d: got %v deleted in one order and %v in another", seed, remove, again)
		}
		more := p
		more.TrialLatest++
		less, _ := keep.Decide(more, all)
		for _, uuid := range less {
			if !slices.Contains(remove, uuid) {
				t.Fatalf("seed %d: %s is deleted by a policy that keeps more", seed, uuid)
			}
		}
		for _, c := range all {
			if len(c.Needs) > 0 && !slices.ContainsFunc(kept, func(k keep.Kept) bool { return k.UUID == c.UUID }) {
				t.Fatalf("seed %d: %s is needed and deleted", seed, c.UUID)
			}
		}
	}
}

func draw(r *rand.Rand) []keep.Checkpoint {
	var all []keep.Checkpoint
	for i := range r.IntN(40) {
		c := keep.Checkpoint{UUID: string(rune('A' + i)), Trial: r.IntN(4), Steps: r.IntN(5), Reported: at(r.IntN(10)), Usable: r.IntN(5) > 0}
		if r.IntN(3) > 0 {
			c.Metric = metric(float64(r.IntN(4)))
		}
		if r.IntN(4) == 0 {
			c.Needs = []string{"needed"}
		}
		all = append(all, c)
	}
	return all
}

// The benchmark must stay well below 100 ms for ten thousand checkpoints.
func BenchmarkDecide(b *testing.B) {
	var all []keep.Checkpoint
	for i := range 10_000 {
		all = append(all, keep.Checkpoint{UUID: time.Duration(i).String(), Trial: i / 10, Steps: i % 10, Metric: metric(float64(i % 97)), Usable: true})
	}
	for b.Loop() {
		keep.Decide(keep.Policy{ExperimentBest: 3, TrialBest: 1, TrialLatest: 1}, all)
	}
}
