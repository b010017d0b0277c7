package measure

import (
	"errors"
	"fmt"
)

// Most is how much what one piece of work costs may grow when there is ten times as much of it: twice,
// because others use the machine.
const Most = 2

// Growth compares what one piece of work costs among more and more of it. The zero value has seen
// nothing.
type Growth struct {
	last map[string]figure
	err  error
}

type figure struct {
	each float64
	of   int
}

// See looks at what n pieces of work cost together, in any one unit, and compares one piece's part with
// that of the size before. A sum of no more than noise is not compared.
func (g *Growth) See(what string, n int, sum, noise float64) {
	now := figure{sum / float64(n), n}
	before, seen := g.last[what]
	if seen && before.each > 0 && sum > noise && now.each > Most*before.each {
		g.err = errors.Join(g.err, fmt.Errorf("%s grows faster than its work: %.3g each of %d, then %.3g each of %d", what, before.each, before.of, now.each, now.of))
	}
	if g.last == nil {
		g.last = map[string]figure{}
	}
	g.last[what] = now
}

// Err says everything that has grown faster than its work; nil when nothing has.
func (g *Growth) Err() error { return g.err }
