package lifecycle

import (
	"encoding/json"
	"maps"
)

// GatherKind is the purpose for which programs of an allocation wait for each other.
type GatherKind string

// Gather kinds.
const (
	// GatherData is to exchange data.
	GatherData GatherKind = "data"
	// GatherRunning is to begin together.
	GatherRunning GatherKind = "running"
)

// Gathered is the data that the programs of an allocation exchanged, by request. It is stored before any
// program receives the answer, so that a repeated request, even to another master, returns the same.
type Gathered map[string]json.RawMessage

// Gather records the data that the programs exchanged.
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
