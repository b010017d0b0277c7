package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer/event"
)

// Schema is the version of the JSON format of errors. Compatible versions may add fields; renaming or
// removing a field requires a new name.
const Schema = "det-deploy.error/v1"

// failure is the JSON format of an error, printed as one line on stderr.
type failure struct {
	Schema   string    `json:"schema"`
	Error    string    `json:"error"`
	Hint     string    `json:"hint,omitempty"`
	Kind     string    `json:"kind"`
	ExitCode exit.Code `json:"exit_code"`
}

// reportError prints err and its hint. No other function prints errors.
func reportError(s *term.Streams, c *cobra.Command, err error) {
	if exit.Of(err) == exit.Canceled {
		if exit.IsUnanswered(err) {
			s.Notef("Nothing was changed.")
		} else {
			s.EraseEcho()
		}
		return
	}
	if exit.Silent(err) {
		return
	}
	hint := event.Hint(err)
	lines := splitError(err)
	if errors.Is(err, context.Canceled) {
		lines = explainInterruption(lines)
	}
	if hint == "" && exit.Of(err) == exit.Interrupted && len(lines) == 1 { // that of a plan says so itself
		hint = "run the same command again to continue"
	}
	if hint == "" && exit.Of(err) == exit.Usage && c != nil {
		hint = c.CommandPath() + " --help"
	}
	if wantsJSON(c) {
		code := exit.Of(err)
		line, jsonErr := json.Marshal(failure{Schema, strings.Join(lines, "\n"), hint, code.Name(), code})
		if jsonErr == nil { // strings and numbers can always be encoded
			_, _ = s.Err.Write(append(line, '\n')) // nowhere to report it
			return
		}
	}
	s.PrintError(lines, hint)
}

// splitError splits a joined error into its lines.
func splitError(err error) []string { return strings.Split(strings.TrimSpace(err.Error()), "\n") }

// canceled is the text of context.Canceled, which ends the error of an interrupted call.
var canceled = context.Canceled.Error()

// explainInterruption replaces the text of context.Canceled by the name of the interrupted step.
func explainInterruption(lines []string) []string {
	var out []string
	for _, line := range lines {
		step, interrupted := strings.CutSuffix(line, canceled)
		step = strings.TrimPrefix(strings.TrimSuffix(step, ": "), "cannot ")
		switch {
		case !interrupted:
			out = append(out, line)
		case step != "":
			out = append(out, "interrupted: "+step)
		}
	}
	if len(out) == 0 {
		return []string{"interrupted"}
	}
	return out
}

func wantsJSON(c *cobra.Command) bool {
	if c == nil {
		return false
	}
	f := c.Flags().Lookup("output")
	return f != nil && (f.Value.String() == string(term.JSON) || f.Value.String() == string(term.JSONv1))
}
