// Package keep decides which checkpoints of an experiment may be deleted, and says why
// the others stay. It is a pure function.
package keep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Policy is how many checkpoints stay.
type Policy struct {
	// ExperimentBest is of the whole experiment, TrialBest and TrialLatest of each trial.
	ExperimentBest, TrialBest, TrialLatest int
	// SmallerIsBetter says which is the best.
	SmallerIsBetter bool
}

// Checkpoint is what decides about one.
type Checkpoint struct {
	UUID  string
	Trial int
	// Steps is how many steps of training it holds.
	Steps    int
	Reported time.Time
	// Metric is the searcher's metric at Steps; nil without one, which is never the best.
	Metric *float64
	// Usable says that it is whole enough to be one of the best or the latest.
	Usable bool
	// Needs is why it stays whatever the policy says.
	Needs []string
}

// Kept is a checkpoint that stays, and why.
type Kept struct {
	UUID string
	Why  []string
}

// Decide divides the checkpoints of one experiment, in their order.
func Decide(p Policy, all []Checkpoint) (remove []string, kept []Kept) {
	why := map[string][]string{}
	for _, c := range all {
		why[c.UUID] = slices.Clone(c.Needs)
	}
	keepFirst(why, p.ExperimentBest, "best of the experiment", p.rankByMetric(all))
	for _, trial := range groupByTrial(all) {
		keepFirst(why, p.TrialBest, "best of its trial", p.rankByMetric(trial))
		keepFirst(why, p.TrialLatest, "latest of its trial", rankBySteps(trial))
	}
	for _, c := range all {
		if len(why[c.UUID]) == 0 {
			remove = append(remove, c.UUID)
		} else {
			kept = append(kept, Kept{c.UUID, why[c.UUID]})
		}
	}
	return remove, kept
}

// keepFirst keeps the first n of a ranking.
func keepFirst(why map[string][]string, n int, what string, ranked []Checkpoint) {
	for i, c := range ranked[:min(max(n, 0), len(ranked))] {
		words := what
		if n > 1 {
			words = fmt.Sprintf("%d. %s", i+1, what)
		}
		why[c.UUID] = append(why[c.UUID], words)
	}
}

func groupByTrial(all []Checkpoint) map[int][]Checkpoint {
	by := map[int][]Checkpoint{}
	for _, c := range all {
		by[c.Trial] = append(by[c.Trial], c)
	}
	return by
}

// rankByMetric is the usable checkpoints with a metric, the best first; of equals the
// one that was reported first.
func (p Policy) rankByMetric(all []Checkpoint) []Checkpoint {
	ranked := slices.DeleteFunc(slices.Clone(all), func(c Checkpoint) bool {
		return !c.Usable || c.Metric == nil || math.IsNaN(*c.Metric)
	})
	slices.SortFunc(ranked, func(a, b Checkpoint) int {
		order := cmp.Compare(*a.Metric, *b.Metric)
		if !p.SmallerIsBetter {
			order = -order
		}
		return cmp.Or(order, a.Reported.Compare(b.Reported), strings.Compare(a.UUID, b.UUID))
	})
	return ranked
}

// rankBySteps is the usable checkpoints, the one with the most steps first; of equals
// the one that was reported last.
func rankBySteps(all []Checkpoint) []Checkpoint {
	ranked := slices.DeleteFunc(slices.Clone(all), func(c Checkpoint) bool { return !c.Usable })
	slices.SortFunc(ranked, func(a, b Checkpoint) int {
		return cmp.Or(b.Steps-a.Steps, b.Reported.Compare(a.Reported), strings.Compare(a.UUID, b.UUID))
	})
	return ranked
}
