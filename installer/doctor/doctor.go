// Package doctor runs a cluster's preflight checks. It reports all problems at once, before
// anything is changed.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Schema names the version of a report's JSON form.
const Schema = "det-deploy.doctor/v1"

// Limit is the default timeout of one check. A check that exceeds it is unknown.
const Limit = 10 * time.Second

// Answer is the outcome of a check.
type Answer string

// The outcomes. Unknown means that the check could not be made; it does not stop an operation.
const (
	Pass    Answer = "pass"
	Fail    Answer = "fail"
	Unknown Answer = "unknown"
)

// Result is the outcome of one check, with its explanation.
type Result struct {
	// Name is the subject of the check, such as "port 8080".
	Name   string `json:"name"`
	Answer Answer `json:"answer"`
	// Found and Needed describe the actual and the required state.
	Found  string `json:"found"`
	Needed string `json:"needed,omitempty"`
	// Fix names a command or flag that solves the problem.
	Fix string `json:"fix,omitempty"`
	// Kind is the kind of the platform's refusal that the failure foresees, or empty.
	Kind cloud.Kind `json:"-"`
}

// As returns r with the kind of the platform's refusal that it foresees.
func (r Result) As(kind cloud.Kind) Result {
	r.Kind = kind
	return r
}

// Check inspects one thing and changes nothing. The Result that Look returns has no Name.
type Check struct {
	Name string
	Look func(context.Context) Result
	// Plan reports that a problem is shown with a plan, too: a setting of others that overrides the cluster's.
	Plan bool
}

// Report holds the results in the order of the checks.
type Report struct {
	Schema  string   `json:"schema"`
	Results []Result `json:"results"`
}

// Run runs all checks concurrently.
func Run(ctx context.Context, checks []Check) Report { return RunWithin(ctx, Limit, checks) }

// RunWithin is Run with another timeout of one check.
func RunWithin(ctx context.Context, limit time.Duration, checks []Check) Report {
	r := Report{Schema: Schema, Results: make([]Result, len(checks))}
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			r.Results[i] = c.Look(ctx)
			r.Results[i].Name = c.Name
		})
	}
	wg.Wait()
	return r
}

// Err returns an *Error that lists the failed checks, or nil if none failed.
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

// Render writes the report as text.
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

// Error reports one or more failed checks.
type Error struct {
	Failed []Result
}

// Report returns a report of the failed checks alone.
func (e *Error) Report() Report { return Report{Schema: Schema, Results: e.Failed} }

// Error returns one line per failed check.
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

// Unwrap returns the platform's refusal that the first failed check with a kind foresees, or nil.
func (e *Error) Unwrap() error {
	for _, f := range e.Failed {
		if f.Kind != "" {
			return &cloud.Error{Kind: f.Kind, Resource: f.Name, Err: errors.New(f.Found)}
		}
	}
	return nil
}

// Hint returns the fixes of the failed checks.
func (e *Error) Hint() string {
	var fixes []string
	for _, f := range e.Failed {
		if f.Fix != "" {
			fixes = append(fixes, f.Fix)
		}
	}
	return strings.Join(fixes, "; ")
}
