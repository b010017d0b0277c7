// Package edgetest has the tests that every platform's table of calls passes: the
// calls that are listed are those that are made, and what they need is what is
// granted, in both directions.
package edgetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// CheckListed compares the table with the calls that the platform's clients have.
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

// CheckVerbs holds "changes something" against the names of the calls: those that
// change nothing are the ones whose last word begins with one of the verbs.
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

// CheckFixes wants every command and flag that a hint names to be a known one.
func CheckFixes(t *testing.T, table edge.Table, commands, flags []string) {
	t.Helper()
	for _, fix := range fixesOf(table) {
		for i, part := range strings.Split(fix, "`") {
			if i%2 == 1 && !slices.Contains(commands, part) {
				t.Errorf("%q: got a command %q that is not known", fix, part)
			}
		}
		for _, word := range strings.Fields(fix) {
			word = strings.Trim(word, ",:.")
			if strings.HasPrefix(word, "--") && !slices.Contains(flags, word) {
				t.Errorf("%q: got a flag %q that is not known", fix, word)
			}
		}
	}
}

// fixesOf lists every hint of a table.
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
