package lifecycle

import (
	"encoding/json"
	"maps"
)

// GatherKind is what programs of an allocation wait for each other for.
type GatherKind string

// The kinds.
const (
	// GatherData is to exchange data.
	GatherData GatherKind = "data"
	// GatherRunning is to begin together.
	GatherRunning GatherKind = "running"
)

// Gathered is what the programs of an allocation gave each other, by their requests. It is
// stored before any of them is answered, so that one that asks again, of another master
// even, is answered the same.
type Gathered map[string]json.RawMessage

// Gather notes what the programs gave each other.
func (a Allocation) Gather(kind GatherKind, g Gathered) Allocation {
	if a.Over() {
		return a
	}
	a.Gathered = maps.Clone(a.Gathered)
	if a.Gathered == nil {
		a.Gathered = make(map[GatherKind]Gathered)
	}
	a.Gathered[kind] = g
	return a
}
