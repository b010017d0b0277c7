// Package hparam represents hyperparameter spaces and selects the values of trials, drawn from a
// NumPy-compatible generator or as the points of a grid. It performs no I/O and is deterministic: a
// seed always yields the same values.
package hparam

import (
	"math"
	"slices"
)

// Space maps names to hyperparameters.
type Space map[string]Parameter

// Parameter is the range of one hyperparameter; at most one field is set. The zero value is the
// constant null.
type Parameter struct {
	Const       *Const
	Int         *Int
	Double      *Double
	Log         *Log
	Categorical *Categorical
	Nested      Space
}

// Const is a constant.
type Const struct{ Value any }

// Int is a range of integers, both limits included. Grids need Count.
type Int struct {
	Min, Max int64
	Count    int
}

// Double is the range [Min, Max) of real numbers.
type Double struct {
	Min, Max float64
	Count    int
}

// Log is Base raised to a real number in [Min, Max).
type Log struct {
	Base, Min, Max float64
	Count          int
}

// Categorical is a list of alternatives.
type Categorical struct{ Values []any }

// sortedNames returns the names in the order in which Draw draws their values.
func (s Space) sortedNames() []string {
	out := make([]string, 0, len(s))
	for name := range s {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Draw returns a random value for each hyperparameter.
func (s Space) Draw(g *Generator) map[string]any {
	out := make(map[string]any, len(s))
	for _, name := range s.sortedNames() {
		out[name] = s[name].drawValue(g)
	}
	return out
}

func (p Parameter) drawValue(g *Generator) any {
	switch {
	case p.Const != nil:
		return p.Const.Value
	case p.Int != nil:
		return p.Int.Min + int64(g.UpTo(uint64(p.Int.Max)-uint64(p.Int.Min)))
	case p.Double != nil:
		return g.drawBetween(p.Double.Min, p.Double.Max)
	case p.Log != nil:
		return math.Pow(p.Log.Base, g.drawBetween(p.Log.Min, p.Log.Max))
	case p.Categorical != nil:
		return p.Categorical.Values[g.UpTo(uint64(len(p.Categorical.Values)-1))]
	case p.Nested != nil:
		return p.Nested.Draw(g)
	}
	return nil
}
