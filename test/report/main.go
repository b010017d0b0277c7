// Command report reads what `go test -json` says and prints what a person
// wants of it: a line a package, the output of what failed, every test that
// was skipped with its sentence, and the counts. It exits with 1 when
// something failed, or when nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(report(os.Stdin, os.Stdout)) //nolint:forbidigo // only main exits, and this is main
}

// event is one line of go test -json; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

type key struct{ pkg, test string }

type counts struct{ passed, failed, skipped int }

func report(in io.Reader, out io.Writer) int {
	var (
		n      counts
		output = map[key][]string{}
		skips  []string
		lines  = bufio.NewScanner(in)
	)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text()) // a compiler's words come as they are
			continue
		}
		k := key{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "output":
			output[k] = append(output[k], e.Output)
		case "pass", "fail", "skip":
			if e.Test == "" {
				ended(out, e, output[k])
			} else {
				skips = n.count(out, e, output[k], skips)
			}
			delete(output, k)
		}
	}
	for _, s := range skips {
		fmt.Fprintln(out, "skipped", s)
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", n.passed, n.failed, n.skipped)
	if n.failed > 0 || n.passed == 0 {
		return 1
	}
	return 0
}

// ended prints a package's line; a package that failed outside any test, such
// as one that does not build, shows all it said.
func ended(out io.Writer, e event, said []string) {
	word := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "-   "}[e.Action]
	if e.Action == "fail" {
		fmt.Fprint(out, strings.Join(said, ""))
	}
	if e.Action != "skip" {
		fmt.Fprintf(out, "%s %6.1fs %s\n", word, e.Elapsed, e.Package)
	}
}

func (n *counts) count(out io.Writer, e event, said, skips []string) []string {
	switch e.Action {
	case "pass":
		n.passed++
	case "fail":
		n.failed++
		fmt.Fprintf(out, "--- %s %s\n%s", e.Package, e.Test, strings.Join(said, ""))
	case "skip":
		n.skipped++
		return append(skips, e.Test+": "+sentence(said))
	}
	return skips
}

// sentence is what a test said when it skipped, without the frame around it.
func sentence(said []string) string {
	for _, line := range said {
		if _, text, found := strings.Cut(line, ".go:"); found {
			_, text, _ = strings.Cut(text, ": ")
			return strings.TrimSpace(text)
		}
	}
	return "no reason given"
}
