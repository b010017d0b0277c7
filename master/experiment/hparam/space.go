// Package hparam is hyperparameters: what each may be, and which values trials get, drawn by the
// generator of NumPy or as the points of a grid. It is pure: a seed always draws the same values.
package hparam

import (
	"math"
	"slices"
)

// Space is hyperparameters by name.
type Space map[string]Parameter

// Parameter is what one hyperparameter may be; exactly one field is set. The zero value is the
// constant null.
type Parameter struct {
	Const       *Const
	Int         *Int
	Double      *Double
	Log         *Log
	Categorical *Categorical
	Nested      Space
}

// Const is always the same.
type Const struct{ Value any }

// Int is a whole number from Min to Max, both included. Count is for grids.
type Int struct {
	Min, Max int64
	Count    int
}

// Double is a real number from Min up to Max.
type Double struct {
	Min, Max float64
	Count    int
}

// Log is Base to the power of a real number from Min up to Max.
type Log struct {
	Base, Min, Max float64
	Count          int
}

// Categorical is one of Values.
type Categorical struct{ Values []any }

// sortedNames are sorted, so that the same seed draws the same values.
func (s Space) sortedNames() []string {
	out := make([]string, 0, len(s))
	for name := range s {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Draw takes one value of each hyperparameter.
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
