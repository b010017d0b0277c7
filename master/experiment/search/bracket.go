package search

import (
	"errors"
	"math"
	"slices"
)

// Bracket is a part of a search whose trials are compared with each other.
type Bracket struct {
	// Trials is the number of trials, Concurrent the limit of those that run at once.
	Trials, Concurrent int
	// Rungs are the lengths, in units of the time metric, at which trials are compared. A trial is
	// done at the last one. A bracket without rungs stops no trials.
	Rungs []uint64
}

// Brackets divides the search into brackets. It returns an error if the configuration is invalid.
func (c Config) Brackets() ([]Bracket, error) {
	if err := c.checkConfig(); err != nil {
		return nil, err
	}
	switch c.Method {
	case AsyncHalving:
		return []Bracket{c.makeBracket(c.Rungs, c.MaxTrials, c.MaxConcurrent)}, nil
	case AdaptiveASHA:
		return c.adaptiveBrackets()
	case Single, Random, Grid:
	}
	n := c.countTrials()
	atOnce := n
	if c.MaxConcurrent > 0 {
		atOnce = min(n, c.MaxConcurrent)
	}
	return []Bracket{{Trials: n, Concurrent: atOnce}}, nil
}

// makeBracket returns a bracket with the given number of rungs. If concurrent is 0, the bracket runs
// as many trials at once as it takes to promote one of them to the last rung.
func (c Config) makeBracket(rungs, trials, concurrent int) Bracket {
	if concurrent == 0 {
		concurrent = int(min(math.Pow(c.Divisor, float64(rungs-1)), most))
	}
	b := Bracket{Trials: trials, Concurrent: max(1, min(concurrent, trials))}
	for i := range rungs {
		units := float64(c.MaxTime) / math.Pow(c.Divisor, float64(rungs-i-1))
		b.Rungs = append(b.Rungs, max(uint64(units), 1))
	}
	return b
}

// adaptiveBrackets returns the brackets of adaptive_asha, the one that stops most trials first.
func (c Config) adaptiveBrackets() ([]Bracket, error) {
	rungs := c.bracketRungs()
	trials, err := c.divideTrials(rungs)
	if err != nil {
		return nil, err
	}
	concurrent := c.divideConcurrent(trials)
	var out []Bracket
	for i, n := range rungs {
		if trials[i] > 0 {
			out = append(out, c.makeBracket(n, trials[i], concurrent[i]))
		}
	}
	return out, nil
}

// bracketRungs returns the number of rungs of each bracket in descending order.
func (c Config) bracketRungs() []int {
	out := slices.Clone(c.BracketRungs)
	if len(out) == 0 {
		top := min(c.Rungs, c.countPowers(float64(c.MaxTime)), c.countPowers(float64(c.MaxTrials)))
		low := 1
		switch c.Mode {
		case Aggressive:
			low = top
		case Standard:
			low = (top-1)/2 + 1
		case Conservative:
		}
		for n := low; n <= top; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

// countPowers returns the number of powers of the divisor, 1 included, that are at most n.
func (c Config) countPowers(n float64) int {
	return int(min(math.Log(n)/math.Log(c.Divisor), maxRungs)) + 1
}

// divideTrials gives each bracket about the same amount of training and no more than MaxTrials in
// total. The first bracket receives the remainder, and the last ones may receive none.
func (c Config) divideTrials(rungs []int) ([]int, error) {
	var total float64
	weights, out := make([]float64, len(rungs)), make([]int, len(rungs))
	for i, n := range rungs {
		weights[i] = math.Pow(c.Divisor, float64(n-1)) / float64(n)
		total += weights[i]
	}
	if math.IsInf(total, 0) {
		return nil, errors.New("plan the search: divisor and rungs are too large together; make one of them smaller")
	}
	left := c.MaxTrials
	for i := range rungs {
		out[i] = min(max(int(weights[i]/total*float64(c.MaxTrials)), 1), left)
		left -= out[i]
	}
	out[0] += left
	return out, nil
}

// divideConcurrent divides MaxConcurrent evenly; the first brackets receive the remainder.
func (c Config) divideConcurrent(trials []int) []int {
	n := len(trials)
	out := make([]int, n)
	for i := range out {
		if c.MaxConcurrent == 0 {
			out[i] = max(trials[n-1], int(c.Divisor))
			continue
		}
		out[i] = max(c.MaxConcurrent, n) / n
		if i < max(c.MaxConcurrent, n)%n {
			out[i]++
		}
	}
	return out
}
