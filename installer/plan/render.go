package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Schema names the version of the JSON format. Fields may be added to a version, but are not
// renamed or removed.
const Schema = "det-deploy.plan/v1"

// Render writes p as text. The same plan always gives the same bytes. Unchanged resources are
// counted, and listed only if they have a note.
func (p Plan) Render(w io.Writer) error {
	var b strings.Builder
	b.WriteString("Plan for cluster " + p.Cluster + ": " + p.Summary() + ".\n")
	listed := p.changedSteps()
	if len(listed) > 0 {
		b.WriteString("\n")
	}
	width := 0
	for _, s := range listed {
		width = max(width, utf8.RuneCountInString(s.stepLabel()))
	}
	for _, s := range listed {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(s.stepLabel()))
		fmt.Fprintf(&b, "  %s %-7s  %s%s  %s\n", s.Verb.sign(), s.Verb, s.stepLabel(), pad, s.Reason)
		for _, m := range s.Makes {
			fmt.Fprintf(&b, "      %s\n", m)
		}
		for _, d := range s.Diff {
			fmt.Fprintf(&b, "      %s: %s → %s\n", d.Path, orNone(d.Have), orNone(d.Want))
		}
		if s.Try != "" {
			fmt.Fprintf(&b, "      try: %s\n", s.Try)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("render the plan: %w", err)
	}
	return nil
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

func (s Step) stepLabel() string {
	if s.Resource == nil {
		return s.Found.String()
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
