// Package edgetest has the tests that the call table of every platform passes: the listed calls are
// exactly those that are made, and the granted permissions exactly those that they need.
package edgetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// CheckListed reports an error if the table differs from the calls of the platform's clients.
func CheckListed(t *testing.T, calls edge.Calls, clients []string) {
	t.Helper()
	got := make([]string, len(calls))
	for i, c := range calls {
		got[i] = c.Op
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(clients))
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("table -, clients +:\n%s", d)
	}
}

// CheckVerbs compares the Changes flag of each call with its name: a call is read-only exactly if
// its last word begins with one of the given verbs.
func CheckVerbs(t *testing.T, calls edge.Calls, reading ...string) {
	t.Helper()
	for _, c := range calls {
		name := c.Op[strings.LastIndexAny(c.Op, ":.")+1:]
		reads := slices.ContainsFunc(reading, func(p string) bool { return strings.HasPrefix(name, p) })
		if c.Changes == reads {
			t.Errorf("%s: got changes %t, want %t", c.Op, c.Changes, !reads)
		}
	}
}

// CheckFixes reports an error for each unknown command or flag in a hint.
func CheckFixes(t *testing.T, table edge.Table, commands, flags []string) {
	t.Helper()
	for _, fix := range fixesOf(table) {
		for i, part := range strings.Split(fix, "`") {
			if i%2 == 1 && !slices.Contains(commands, part) {
				t.Errorf("%q: got a command %q that is not known", fix, part)
			}
		}
		for _, word := range strings.Fields(fix) {
			word = strings.Trim(word, ",;:.")
			if strings.HasPrefix(word, "--") && !slices.Contains(flags, word) {
				t.Errorf("%q: got a flag %q that is not known", fix, word)
			}
		}
	}
}

// fixesOf returns every hint of a table.
func fixesOf(t edge.Table) []string {
	out := []string{t.FixDenied, t.FixCredentials}
	for _, r := range t.Rules.Exact {
		out = append(out, r.Fix)
	}
	for _, f := range t.Rules.Families {
		out = append(out, f.Fix)
	}
	return out
}
