// Package collector keeps the garbage collector from running while the program starts, and
// in commands that end soon.
package collector

import (
	"runtime/debug"
	"sync"
)

// startPercent lets the heap grow to 16 MB before the first collection, the runtime's 4 MB
// for each hundred. Packages allocate 9 MB at the start, which were collected three times
// although most of it stays: a fifth of what a short command took.
const startPercent = 400

// usual is what the collector is set to without this package: 100, or what GOGC says. It is
// the first thing that the program does: packages start in the order of what they need,
// and this one needs next to nothing.
var usual = debug.SetGCPercent(startPercent)

// resume is done once: what a process sets later is its own.
var resume sync.Once

// Resume sets the collector to what is usual. A process calls it first that stays, or holds
// much; the next calls do nothing.
func Resume() {
	resume.Do(func() { debug.SetGCPercent(usual) })
}
