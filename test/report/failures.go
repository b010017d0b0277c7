package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxAgain is how many failed tests are a busy machine and not a broken change.
const maxAgain = 6

// failures are the failed tests of a package.
type failures struct {
	tests   []string // without subtests
	reasons []string // a line each
}

// reason is a line that a test printed by itself.
var reason = regexp.MustCompile(`^\s+\w+_test\.go:\d+: `)

func (r *report) addFailure(e event, said []string) {
	f := r.failed[e.Package]
	if f == nil {
		f = &failures{}
		r.failed[e.Package] = f
		r.order = append(r.order, e.Package)
	}
	test, _, _ := strings.Cut(e.Test, "/")
	if !slices.Contains(f.tests, test) {
		f.tests = append(f.tests, test)
	}
	for _, line := range said {
		if reason.MatchString(line) && len(f.reasons) < 20 {
			f.reasons = append(f.reasons, fmt.Sprintf("%s: %.400s", e.Test, strings.TrimSpace(line)))
		}
	}
}

// tellsOfRace reports whether a line is the race detector's. It may stand in the output
// of a test that ran beside, and passed.
func tellsOfRace(line string) bool {
	return strings.HasPrefix(line, "WARNING: DATA RACE") || strings.Contains(line, "race detected during execution of test")
}

// summary is the end of a long output: where it failed, and the last words of each test.
func (r *report) summary() string {
	var b strings.Builder
	for _, pkg := range r.order {
		f := r.failed[pkg]
		fmt.Fprintf(&b, "failed: %s %s\n", pkg, strings.Join(f.tests, " "))
		for _, line := range f.reasons {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}

// again is what may be run once more: a package and a pattern a line. It is empty when
// too many tests failed, or one in a way that a second run must not hide.
func (r *report) again() string {
	var b strings.Builder
	count := 0
	for _, pkg := range r.order {
		f := r.failed[pkg]
		if count += len(f.tests); r.final || count > maxAgain {
			return ""
		}
		fmt.Fprintf(&b, "%s ^(%s)$\n", pkg, strings.Join(f.tests, "|"))
	}
	return b.String()
}
