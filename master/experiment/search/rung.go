package search

import (
	"math"
	"slices"
	"sort"
)

// rung lists the trials that reached a length, best first.
type rung []entry

type entry struct {
	trial int
	// key increases as the trial gets worse; NaN is worst.
	key float64
}

// rankKey converts a metric to a key.
func (c Config) rankKey(metric Number) float64 {
	if c.SmallerIsBetter {
		return float64(metric)
	}
	return -float64(metric)
}

// findPlace returns the index at which a key is inserted: before equal keys.
func (r rung) findPlace(key float64) int {
	return sort.Search(len(r), func(i int) bool { return !isBetter(r[i].key, key) })
}

func isBetter(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return !math.IsNaN(a) && math.IsNaN(b)
	}
	return a < b
}

// rankTrial returns the rank of a trial that reached a rung. The best one in Divisor trials, at
// least one, continues; a trial whose metric is NaN never does.
func (s *State) rankTrial(t trial, at int, in Input) Rank {
	here, key := s.rungs[t.bracket][at], s.config.rankKey(in.Metric)
	r := Rank{Bracket: t.bracket, Rung: at, Time: in.Time, Metric: in.Metric, Place: here.findPlace(key) + 1, Of: len(here) + 1}
	if last := at == len(s.brackets[t.bracket].Rungs)-1; last {
		return r
	}
	r.GoOn = max(int(float64(r.Of)/s.config.Divisor), 1)
	r.GoesOn = r.Place <= r.GoOn && !math.IsNaN(key)
	return r
}

// rankWorst returns the rank of a trial that failed before its next rung.
func (s *State) rankWorst(t trial) Rank {
	here := s.rungs[t.bracket][t.rung]
	return Rank{Bracket: t.bracket, Rung: t.rung, Metric: Number(math.NaN()), Worst: true, Place: len(here) + 1, Of: len(here) + 1}
}

func (s *State) insertRank(number int, r Rank) {
	key := s.config.rankKey(r.Metric)
	if r.Worst {
		key = math.NaN()
	}
	here := s.rungs[r.Bracket][r.Rung]
	s.rungs[r.Bracket][r.Rung] = slices.Insert(here, r.Place-1, entry{number, key})
}

func (s *State) dropTrial(number int) {
	rungs := s.rungs[s.trials[number-1].bracket]
	for i := range rungs {
		rungs[i] = slices.DeleteFunc(rungs[i], func(e entry) bool { return e.trial == number })
	}
}
