package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// took is the wall time of a package or test, in seconds.
type took struct {
	name    string
	seconds float64
}

// times are those of the packages and of the top-level tests of a run.
type times struct {
	packages, tests []took
}

// slowest returns the n slowest packages and the n slowest tests.
func (t *times) slowest(n int) string {
	var b strings.Builder
	for _, kind := range []struct {
		name string
		all  []took
	}{{"packages", t.packages}, {"tests", t.tests}} {
		fmt.Fprintf(&b, "slowest %s:\n", kind.name)
		for _, e := range first(n, byTime(kind.all)) {
			fmt.Fprintf(&b, "  %7.1fs %s\n", e.seconds, e.name)
		}
	}
	return b.String()
}

// table returns all packages and tests, one per line, the slowest first.
func (t *times) table() string {
	var b strings.Builder
	for _, e := range byTime(slices.Concat(t.packages, t.tests)) {
		fmt.Fprintf(&b, "%.1f %s\n", e.seconds, e.name)
	}
	return b.String()
}

func byTime(all []took) []took {
	return slices.SortedFunc(slices.Values(all), func(a, b took) int {
		return cmp.Or(-cmp.Compare(a.seconds, b.seconds), strings.Compare(a.name, b.name))
	})
}

func first(n int, all []took) []took { return all[:min(n, len(all))] }
