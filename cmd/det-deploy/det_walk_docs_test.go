package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/golden"
)

const walkPage = "../../docs/det-client.md"

const walkIntro = `# The det client

The ` + "`det`" + ` client of Determined 0.38.1 works unmodified with a det-deploy cluster: set ` + "`DET_MASTER`" + ` to the master's address. The master responds to commands that are not built yet with status 501 and an explanation. This page is generated from a table of commands that a test runs with the unmodified client against a live cluster (` + "`cmd/det-deploy/testdata/det/walk.txt`" + `).

A followed log (` + "`det task logs -f`, `det command run`" + `) ends cleanly when the master stops; ` + "`det task logs -f ID`" + ` continues it. When the master is killed and cannot end the response, the client prints ` + "`ChunkedEncodingError`" + ` and exits with 1: the task keeps running, and the same command continues the log. This is intentional: a response without chunks, which ends when the connection closes, would look like the end of the log, and the client would exit with 0 for a running task. A proxy in front of the master that ends the responses of a killed one would be one more process that can be killed, in the path of every request. ` + "`det-deploy task logs --follow` and `det-deploy task run`" + ` reconnect automatically in both cases.

| command | works | not built yet | requires Determined Enterprise, or rejected by the client |
|---|---|---|---|
`

// outside lists the commands that the walk leaves out, with the reason.
var outside = map[string]string{
	"deploy":   "it installs clusters of Determined and does not talk to a master",
	"dev curl": "it runs curl, which may not be there",
}

// walkLeaf is a command of the client without subcommands: the names of each word.
type walkLeaf [][]string

func readLeaves(t *testing.T) (leaves []walkLeaf) {
	t.Helper()
	for _, l := range readLines(t, walkLeaves) {
		var leaf walkLeaf
		for word := range strings.FieldsSeq(l) {
			leaf = append(leaf, strings.Split(word, "|"))
		}
		if last := leaf[len(leaf)-1]; len(leaf) == 1 || last[0] != "help" {
			leaves = append(leaves, leaf)
		}
	}
	return leaves
}

func (l walkLeaf) name() string {
	var words []string
	for _, names := range l {
		words = append(words, names[0])
	}
	return strings.Join(words, " ")
}

// runs reports whether an invocation belongs to the command.
func (l walkLeaf) runs(args string) bool {
	words := strings.Fields(strings.TrimPrefix(args, "-u admin "))
	if len(words) < len(l) {
		return false
	}
	for i, names := range l {
		if !slices.Contains(names, words[i]) {
			return false
		}
	}
	return true
}

// outcomes returns the best expected outcome of each command: a command works if any of its
// invocations does.
func outcomes(t *testing.T) map[string]outcome {
	t.Helper()
	rank := []outcome{works, notBuilt, refused, clientOnly}
	out := map[string]outcome{}
	steps := readWalk(t)
	for _, l := range readLeaves(t) {
		for _, s := range steps {
			if !l.runs(s.args) {
				continue
			}
			if best, found := out[l.name()]; !found || slices.Index(rank, s.want) < slices.Index(rank, best) {
				out[l.name()] = s.want
			}
		}
		if _, found := out[l.name()]; !found && outside[l.name()] == "" {
			t.Errorf("no row of %s runs det %s", walkTable, l.name())
		}
	}
	return out
}

func renderWalk(of map[string]outcome) string {
	groups := map[string]map[outcome][]string{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		noun, rest, _ := strings.Cut(name, " ")
		if groups[noun] == nil {
			groups[noun] = map[outcome][]string{}
		}
		what := of[name]
		if what == clientOnly {
			what = refused
		}
		groups[noun][what] = append(groups[noun][what], rest)
	}
	var b strings.Builder
	b.WriteString(walkIntro)
	for _, noun := range slices.Sorted(maps.Keys(groups)) {
		g := groups[noun]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", noun, words(g[works]), words(g[notBuilt]), words(g[refused]))
	}
	return b.String()
}

func words(list []string) string {
	if len(list) == 1 && list[0] == "" {
		return "yes"
	}
	return strings.Join(list, ", ")
}

// TestWalkCoversEveryCommand needs no client.
func TestWalkCoversEveryCommand(t *testing.T) {
	t.Parallel()
	want := renderWalk(outcomes(t))
	golden.Compare(t, walkPage, want)
}
