// Package doctor says before anything is changed whether a cluster can run where
// it is to be put, and if not, lists everything that prevents it at once.
package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Schema names the version of a report's JSON form.
const Schema = "det-deploy.doctor/v1"

// Limit is how long one check may take before its answer is unknown.
const Limit = 10 * time.Second

// Answer is what a check says.
type Answer string

// The answers. A check that could not be made is not a pass, and does not stop
// anybody.
const (
	Pass    Answer = "pass"
	Fail    Answer = "fail"
	Unknown Answer = "unknown"
)

// Result is one check's answer.
type Result struct {
	// Name is what was checked: "port 8080".
	Name   string `json:"name"`
	Answer Answer `json:"answer"`
	// Found and Needed are what is there and what has to be.
	Found  string `json:"found"`
	Needed string `json:"needed,omitempty"`
	// Fix is what to do, naming an existing command or flag.
	Fix string `json:"fix,omitempty"`
}

// Check looks at one thing and changes nothing. It leaves Name empty.
type Check struct {
	Name string
	Look func(context.Context) Result
}

// Report is all answers, in the order of the checks.
type Report struct {
	Schema  string   `json:"schema"`
	Results []Result `json:"results"`
}

// Run makes all checks side by side.
func Run(ctx context.Context, checks []Check) Report {
	r := Report{Schema: Schema, Results: make([]Result, len(checks))}
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, Limit)
			defer cancel()
			r.Results[i] = c.Look(ctx)
			r.Results[i].Name = c.Name
		})
	}
	wg.Wait()
	return r
}

// Err returns what failed, or nil.
func (r Report) Err() error {
	var failed []Result
	for _, res := range r.Results {
		if res.Answer == Fail {
			failed = append(failed, res)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &Error{Failed: failed}
}

// Render writes the report for people.
func (r Report) Render(w io.Writer) error {
	var b strings.Builder
	for _, res := range r.Results {
		fmt.Fprintf(&b, "  %-7s  %s: %s\n", res.Answer, res.Name, res.Found)
		if res.Answer != Pass && res.Needed != "" {
			fmt.Fprintf(&b, "           needed: %s\n", res.Needed)
		}
		if res.Answer != Pass && res.Fix != "" {
			fmt.Fprintf(&b, "           try: %s\n", res.Fix)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Error is one or more checks that failed.
type Error struct {
	Failed []Result
}

// Error has a line per failed check.
func (e *Error) Error() string {
	lines := make([]string, len(e.Failed))
	for i, f := range e.Failed {
		lines[i] = fmt.Sprintf("check %s: %s", f.Name, f.Found)
		if f.Needed != "" {
			lines[i] += " (needed: " + f.Needed + ")"
		}
	}
	return strings.Join(lines, "\n")
}

// Hint joins the fixes.
func (e *Error) Hint() string {
	var fixes []string
	for _, f := range e.Failed {
		if f.Fix != "" {
			fixes = append(fixes, f.Fix)
		}
	}
	return strings.Join(fixes, "; ")
}
