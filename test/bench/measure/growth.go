package measure

import (
	"errors"
	"fmt"
)

// Most limits the growth of the cost of one unit of work with ten times the work: twice, because
// other processes use the machine.
const Most = 2

// Growth compares the cost of one unit of work between growing amounts of work. The zero value is
// ready to use.
type Growth struct {
	last map[string]figure
	err  error
}

type figure struct {
	each float64
	of   int
}

// See records the cost of n units of work, in any unit, and compares the cost of one with that at
// the size before. A sum below noise is not compared.
func (g *Growth) See(what string, n int, sum, noise float64) {
	now := figure{sum / float64(n), n}
	before, seen := g.last[what]
	if seen && before.each > 0 && sum > noise && now.each > Most*before.each {
		g.err = errors.Join(g.err, fmt.Errorf("the cost of %s grows faster than its work: %.3g per unit of %d, then %.3g per unit of %d", what, before.each, before.of, now.each, now.of))
	}
	if g.last == nil {
		g.last = map[string]figure{}
	}
	g.last[what] = now
}

// Err returns an error that lists all costs that grew faster than their work, or nil.
func (g *Growth) Err() error { return g.err }
