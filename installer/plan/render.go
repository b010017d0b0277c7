package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Schema names the version of the JSON format. Fields may be added to a version, but are not
// renamed or removed.
const Schema = "det-deploy.plan/v1"

// Render writes p as text, with the counts in the last line. The same plan always gives the same bytes.
// Unchanged resources are counted, and listed only if they have a note.
func (p Plan) Render(w io.Writer) error { return p.RenderFolded(w, 0) }

// RenderFolded is like Render for a screen with a number of rows. If the text is longer, steps that have
// no details are counted by kind. Zero rows have room for everything.
func (p Plan) RenderFolded(w io.Writer, rows int) error {
	text := formatSteps(p.changedSteps())
	if rows > 0 && strings.Count(text, "\n") > rows-2 {
		text = foldSteps(p.changedSteps())
	}
	if text != "" {
		text += "\n"
	}
	if _, err := io.WriteString(w, text+"Plan for cluster "+p.Cluster+": "+p.Summary()+".\n"); err != nil {
		return fmt.Errorf("render the plan: %w", err)
	}
	return nil
}

// formatSteps returns one line per step, followed by its details.
func formatSteps(steps []Step) string {
	width := 0
	for _, s := range steps {
		width = max(width, utf8.RuneCountInString(s.stepLabel()))
	}
	var b strings.Builder
	for _, s := range steps {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(s.stepLabel()))
		fmt.Fprintf(&b, "  %s %-7s  %s%s  %s\n", s.Verb.sign(), s.Verb, s.stepLabel(), pad, s.Reason)
		for _, line := range s.details() {
			b.WriteString("      " + line + "\n")
		}
	}
	return b.String()
}

// mostDiff is the number of differing attributes that are shown for a step; the JSON format has all.
const mostDiff = 30

// details returns the lines about a step.
func (s Step) details() []string {
	out := slices.Clone(s.Makes)
	for _, d := range s.Diff[:min(mostDiff, len(s.Diff))] {
		out = append(out, d.Path+": "+orNone(d.Have)+" → "+orNone(d.Want))
	}
	if more := len(s.Diff) - mostDiff; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	if s.Try != "" {
		out = append(out, "try: "+s.Try)
	}
	return out
}

// changedSteps returns the steps without those of unchanged resources that have no note.
func (p Plan) changedSteps() []Step {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool {
		return s.Verb == Keep && s.Resource != nil && s.Reason == asWanted
	})
}

// Summary counts the verbs, as in "2 to create, 1 to keep".
func (p Plan) Summary() string {
	var parts []string
	for _, v := range []Verb{Create, Update, Replace, Delete, Refuse, Keep} {
		if n := p.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n, v))
		}
	}
	switch {
	case len(parts) == 0:
		return "nothing to do"
	case p.Empty():
		return "nothing to do, " + strings.Join(parts, ", ")
	default:
		return strings.Join(parts, ", ")
	}
}

// MarshalJSON returns the versioned format.
func (p Plan) MarshalJSON() ([]byte, error) {
	steps := p.Steps
	if steps == nil {
		steps = []Step{}
	}
	return json.Marshal(struct {
		Schema  string `json:"schema"`
		Cluster string `json:"cluster"`
		Empty   bool   `json:"empty"`
		Steps   []Step `json:"steps"`
	}{Schema, p.Cluster, p.Empty(), steps})
}

// checksum matches the part of a SHA-256 checksum in a name that need not be shown.
var checksum = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

func (s Step) stepLabel() string {
	if s.Resource == nil {
		return checksum.ReplaceAllString(s.Found.String(), "$1…")
	}
	return s.ID
}

// sign returns the mark of a verb in a rendered plan, one column wide.
func (v Verb) sign() string {
	switch v {
	case Create:
		return "+"
	case Update:
		return "~"
	case Replace:
		return "±"
	case Delete:
		return "-"
	case Refuse:
		return "!"
	case Keep:
		return "="
	}
	panic("plan: unknown verb " + string(v))
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
