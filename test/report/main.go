// Command report reads what `go test -json` says and prints what a person
// wants of it: a line a package, the output of what failed, every test that
// was skipped with its sentence, what failed once more in short, and the counts.
// It exits with 1 when something failed, or when nothing ran. With -again FILE
// it writes there the packages and tests that may be run once more.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	again := flag.String("again", "", "file to write the failed tests to, a package and a pattern a line, when they are few enough to be run once more")
	flag.Parse()
	r := newReport()
	code := r.read(os.Stdin, os.Stdout)
	if *again != "" {
		if err := os.WriteFile(*again, []byte(r.again()), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "report:", err)
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // only main exits, and this is main
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

// report is what was seen of a run.
type report struct {
	passed, failedTests, skipped int
	skips                        []string
	failed                       map[string]*failures // by package
	order                        []string             // of the packages that failed
	// final says that something failed which a second run of tests would not show: a
	// package that does not build or died in the middle, a data race, a run cut off.
	final   bool
	output  map[key][]string
	running map[key]bool
}

func newReport() *report {
	return &report{failed: map[string]*failures{}, output: map[key][]string{}, running: map[key]bool{}}
}

func (r *report) read(in io.Reader, out io.Writer) int {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text()) // a compiler's words come as they are
			continue
		}
		r.take(out, e)
	}
	if err := lines.Err(); err != nil || len(r.running) > 0 {
		fmt.Fprintf(out, "the run was cut off (%d tests had not ended)\n", len(r.running))
		r.final = true
	}
	for _, s := range r.skips {
		fmt.Fprintln(out, "skipped", s)
	}
	fmt.Fprint(out, r.summary())
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", r.passed, r.failedTests, r.skipped)
	if r.failedTests > 0 || r.final || r.passed == 0 {
		return 1
	}
	return 0
}

func (r *report) take(out io.Writer, e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(out, e.Output)
	case "run":
		r.running[k] = true
	case "output":
		r.final = r.final || tellsOfRace(e.Output)
		r.output[k] = append(r.output[k], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(out, e)
		} else {
			r.endTest(out, e, r.output[k])
		}
		delete(r.running, k)
		delete(r.output, k)
	}
}

// endPackage prints a package's line; a package that failed outside any test, such as
// one that does not build, shows all it said, and so do tests it died in.
func (r *report) endPackage(out io.Writer, e event) {
	word := map[string]string{"pass": "ok  ", "fail": "FAIL", "skip": "-   "}[e.Action]
	if e.Action == "fail" {
		r.final = r.endRunning(out, e.Package) > 0 || r.final || r.failed[e.Package] == nil
		fmt.Fprint(out, strings.Join(r.output[key{e.Package, ""}], ""))
	}
	if e.Action != "skip" {
		fmt.Fprintf(out, "%s %6.1fs %s\n", word, e.Elapsed, e.Package)
	}
}

// endRunning prints what the tests said in which a package died, and counts them.
func (r *report) endRunning(out io.Writer, pkg string) (n int) {
	for k := range r.running {
		if k.pkg != pkg {
			continue
		}
		n++
		fmt.Fprintf(out, "--- %s %s did not end\n%s", k.pkg, k.test, strings.Join(r.output[k], ""))
		delete(r.running, k)
		delete(r.output, k)
	}
	return n
}

func (r *report) endTest(out io.Writer, e event, said []string) {
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failedTests++
		fmt.Fprintf(out, "--- %s %s\n%s", e.Package, e.Test, strings.Join(said, ""))
		r.addFailure(e, said)
	case "skip":
		r.skipped++
		r.skips = append(r.skips, e.Test+": "+sentence(said))
	}
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
