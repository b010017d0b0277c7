// Package keep decides which checkpoints of an experiment may be deleted, with the reasons for
// keeping the others. It performs no I/O.
package keep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Policy is the number of checkpoints to keep.
type Policy struct {
	// ExperimentBest applies to the whole experiment, TrialBest and TrialLatest to each trial.
	ExperimentBest, TrialBest, TrialLatest int
	// SmallerIsBetter determines which metric is the best.
	SmallerIsBetter bool
}

// Checkpoint holds the properties of a checkpoint that Decide uses.
type Checkpoint struct {
	UUID  string
	Trial int
	// Steps is the number of completed training steps.
	Steps    int
	Reported time.Time
	// Metric is the searcher's metric at Steps. A checkpoint without one is never the best.
	Metric *float64
	// Usable reports whether the checkpoint may count as one of the best or latest.
	Usable bool
	// Needs lists the reasons to keep the checkpoint regardless of the policy.
	Needs []string
}

// Kept is a checkpoint that is kept, with the reasons.
type Kept struct {
	UUID string
	Why  []string
}

// Decide returns the checkpoints of one experiment that may be deleted and those that are kept, both
// in the given order.
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

// keepFirst keeps the first n checkpoints of a ranking.
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

// rankByMetric returns the usable checkpoints with a metric, best first. Equal ones are ordered by
// report time, earliest first.
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

// rankBySteps returns the usable checkpoints, most steps first. Equal ones are ordered by report
// time, latest first.
func rankBySteps(all []Checkpoint) []Checkpoint {
	ranked := slices.DeleteFunc(slices.Clone(all), func(c Checkpoint) bool { return !c.Usable })
	slices.SortFunc(ranked, func(a, b Checkpoint) int {
		return cmp.Or(b.Steps-a.Steps, b.Reported.Compare(a.Reported), strings.Compare(a.UUID, b.UUID))
	})
	return ranked
}
