package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

type key struct{ pkg, test string }

// report is the state of one run of go test.
type report struct {
	out     io.Writer
	printed int // lines

	passed, failed, skipped int
	skips                   map[string]int // reasons with their number of tests
	failures                []failure
	// broken is set by a failure outside of tests: a package that does not build, a data race in a
	// test that passed, an incomplete run.
	broken  bool
	output  map[key][]string
	running map[key]bool
	started map[string]time.Time // packages that run
	times   times
}

// failure is a failed test with the lines that it printed itself.
type failure struct {
	test    key
	reasons []string
}

func newReport(out io.Writer) *report {
	return &report{
		out: out, skips: map[string]int{}, output: map[key][]string{}, running: map[key]bool{}, started: map[string]time.Time{},
	}
}

func (r *report) printf(format string, args ...any) {
	r.printed++
	fmt.Fprintf(r.out, format, args...)
}

func (r *report) take(e event, now time.Time) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.printf("%s", e.Output)
	case "start":
		r.started[e.Package] = now
	case "run":
		r.running[k] = true
	case "output":
		r.broken = r.broken || reportsRace(e.Output)
		r.output[k] = append(r.output[k], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e, r.output[k])
		}
		delete(r.running, k)
		delete(r.output, k)
	}
}

// reportsRace reports whether the race detector printed this line. The line may be in the output of
// a passing test that ran in parallel with the racing one.
func reportsRace(line string) bool {
	return strings.HasPrefix(line, "WARNING: DATA RACE") || strings.Contains(line, "race detected during execution of test")
}

func (r *report) endTest(e event, output []string) {
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		r.printf("--- %s %s\n%s", e.Package, e.Test, strings.Join(output, ""))
		r.failures = append(r.failures, failure{key{e.Package, e.Test}, reasons(output)})
	case "skip":
		r.skipped++
		r.skips[skipReason(output)]++
	}
	if !strings.Contains(e.Test, "/") {
		r.times.tests = append(r.times.tests, took{e.Package + " " + e.Test, e.Elapsed})
	}
}

// endPackage prints the line of a package. For a package that failed outside of its tests it prints
// the whole output, and that of its running tests.
func (r *report) endPackage(e event) {
	delete(r.started, e.Package)
	switch e.Action {
	case "pass":
		r.printf("ok   %6.1fs %s\n", e.Elapsed, e.Package)
	case "fail":
		r.broken = true
		r.endRunning(e.Package)
		r.printf("%s", strings.Join(r.output[key{e.Package, ""}], ""))
		r.printf("FAIL %6.1fs %s\n", e.Elapsed, e.Package)
	case "skip": // it has no tests
		return
	}
	r.times.packages = append(r.times.packages, took{e.Package, e.Elapsed})
}

// endRunning prints the output of the tests that were running when their package ended.
func (r *report) endRunning(pkg string) {
	for k := range r.running {
		if k.pkg == pkg {
			r.printf("--- %s %s did not end\n%s", k.pkg, k.test, strings.Join(r.output[k], ""))
			delete(r.running, k)
			delete(r.output, k)
		}
	}
}

// printRunning prints the running packages, the longest first.
func (r *report) printRunning(now time.Time) {
	names := slices.SortedFunc(maps.Keys(r.started), func(a, b string) int { return r.started[a].Compare(r.started[b]) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%.0fs)", name, now.Sub(r.started[name]).Seconds())
	}
	if len(names) == 0 {
		names = []string{"go build"}
	}
	r.printf("running: %s\n", strings.Join(names, ", "))
}

// end prints the summary and returns the exit code.
func (r *report) end() int {
	if len(r.running) > 0 {
		r.broken = true
		r.printf("the run was cut off: %d tests had not ended\n", len(r.running))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.skips)) {
		r.printf("skipped %d: %s\n", r.skips[reason], reason)
	}
	r.printf("%s", r.times.slowest(10))
	for _, f := range r.failures {
		r.printf("failed: %s %s\n", f.test.pkg, f.test.test)
		for _, reason := range f.reasons {
			r.printf("    %s\n", reason)
		}
	}
	r.printf("%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	if r.failed > 0 || r.broken || r.passed == 0 {
		return 1
	}
	return 0
}

// printedByTest matches a line that a test printed itself.
var printedByTest = regexp.MustCompile(`^\s+\w+_test\.go:\d+: `)

// reasons returns the first lines that a failed test printed itself.
func reasons(output []string) []string {
	var lines []string
	for _, l := range output {
		if printedByTest.MatchString(l) && len(lines) < 20 {
			lines = append(lines, fmt.Sprintf("%.400s", strings.TrimSpace(l)))
		}
	}
	return lines
}

// skipReason returns the text that a test gave to Skip.
func skipReason(output []string) string {
	for _, l := range output {
		if _, text, found := strings.Cut(l, ".go:"); found {
			_, text, _ = strings.Cut(text, ": ")
			return strings.TrimSpace(text)
		}
	}
	return "no reason given"
}
