// Command report reads the output of `go test -json` and prints a line for each package when it
// ends, the running packages after a while without output, the output of failed tests, each skipped
// test with its reason, the slowest packages, and the counts. It exits with 1 if a test failed or
// no test ran.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// quiet is the time without output after which the report lists the running packages.
const quiet = 30 * time.Second

func main() {
	times := flag.String("times", "", "file to write the seconds of each package and top-level test to")
	flag.Parse()
	r := newReport(os.Stdout)
	code := r.run(lines(os.Stdin), time.NewTicker(time.Second).C)
	if *times != "" {
		if err := os.WriteFile(*times, []byte(r.times.table()), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "report:", err)
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // this is main
}

// event is one line of go test -json; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// line is one line of the input, or the error that ended it.
type line struct {
	text []byte
	err  error
}

// lines sends the lines of in, and closes the channel at its end.
func lines(in io.Reader) <-chan line {
	c := make(chan line)
	go func() {
		defer close(c)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, 16<<20)
		for scanner.Scan() {
			c <- line{text: append([]byte(nil), scanner.Bytes()...)}
		}
		if err := scanner.Err(); err != nil {
			c <- line{err: err}
		}
	}()
	return c
}

// run handles every line, prints the running packages after each quiet period, and returns the exit
// code.
func (r *report) run(in <-chan line, ticks <-chan time.Time) int {
	printed := time.Now()
	for {
		select {
		case l, open := <-in:
			if !open {
				return r.end()
			}
			if r.takeLine(l, time.Now()) {
				printed = time.Now()
			}
		case now := <-ticks:
			if now.Sub(printed) >= quiet {
				printed = now
				r.printRunning(now)
			}
		}
	}
}

// takeLine handles one line and reports whether it printed something.
func (r *report) takeLine(l line, now time.Time) bool {
	before := r.printed
	var e event
	switch {
	case l.err != nil:
		r.printf("cannot read the output of go test: %v\n", l.err)
		r.broken = true
	case json.Unmarshal(l.text, &e) != nil:
		r.printf("%s\n", l.text) // compiler output is not JSON
	default:
		r.take(e, now)
	}
	return r.printed > before
}
