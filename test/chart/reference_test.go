package chart_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/test/golden"
)

const page = "../../docs/reference/helm-values.md"

// The page is generated from values.yaml, whose comments are the documentation, and from the error
// messages of the schema.
func TestReferencePageIsFresh(t *testing.T) {
	t.Parallel()
	got := reference(t)
	golden.Compare(t, page, got)
}

// entry is one value of values.yaml.
type entry struct {
	key, value, text string
}

func reference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# Values of the Helm chart

This page is generated from the chart's values.yaml and its schema; do not edit it.

Names are those of the chart of Determined 0.38.1 wherever it has one; what is ours
says so. Values that are not here are refused, and so are values that contradict each
other. Every secret may be named instead of written: the value with ExistingSecret at
its end is {name, key} of a Secret in the release's namespace. Secrets that are
not given are generated once and kept in the Secret determined-secrets-<release>, which no
release owns.

| value | default | |
|---|---|---|
`)
	for _, e := range entries(t) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.key, code(e.value), strings.ReplaceAll(e.text, "|", `\|`))
	}
	b.WriteString(`
## What is refused

The chart of Determined 0.38.1 has these, and this one wants them otherwise or left
out (empty, or not enabled, counts as left out).

| value | must be |
|---|---|
`)
	sentences := map[string]string{}
	refusals(t, sentences, "", read(t, "../../templates/chart/values.schema.json"))
	keys := make([]string, 0, len(sentences))
	for k := range sentences {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k, sentences[k])
	}
	return b.String()
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

var line = regexp.MustCompile(`^(\s*)(# )?([A-Za-z_]+):(?: (.*))?$`)

// entries reads values.yaml with its comments: the comment above a value is its text, and also that
// of the following values on the same level without a comment.
func entries(t *testing.T) []entry {
	t.Helper()
	known := schemaKeys(t)
	var all []entry
	var parents []parent
	var text []string
	var last string
	var indent int
	for l := range strings.Lines(read(t, "../../templates/chart/values.yaml")) {
		l = strings.TrimRight(l, "\n")
		m := line.FindStringSubmatch(l)
		key := ""
		if m != nil {
			for len(parents) > 0 && parents[len(parents)-1].indent >= len(m[1]) {
				parents = parents[:len(parents)-1]
			}
			key = m[3]
			if len(parents) > 0 {
				key = document.Join(parents[len(parents)-1].key, key)
			}
		}
		switch trimmed := strings.TrimSpace(l); {
		case m != nil && slices.Contains(known, key):
			e := entry{key: key, value: m[4], text: strings.Join(text, " ")}
			if m[2] != "" {
				e.value = "" // only an example
			}
			if e.text == "" && len(m[1]) == indent {
				e.text = last
			}
			last, text, indent = e.text, nil, len(m[1])
			all = append(all, e)
			parents = append(parents, parent{len(m[1]), key})
		case strings.HasPrefix(trimmed, "# ---"):
			text, last = nil, ""
		case strings.HasPrefix(trimmed, "#"):
			text = append(text, strings.TrimSpace(strings.TrimPrefix(trimmed, "#")))
		default:
			text, last = nil, ""
		}
	}
	return all
}

type parent struct {
	indent int
	key    string
}

// refusals collects the error messages for values that the schema rejects.
func refusals(t *testing.T, into map[string]string, path, raw string) {
	t.Helper()
	var n struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Then       struct {
			Const string `json:"const"`
		} `json:"then"`
	}
	if json.Unmarshal([]byte(raw), &n) != nil {
		return
	}
	if n.Then.Const != "" {
		into[path] = n.Then.Const
	}
	for key, child := range n.Properties {
		refusals(t, into, document.Join(path, key), string(child))
	}
	var list struct {
		Items json.RawMessage `json:"items"`
	}
	if json.Unmarshal([]byte(raw), &list) == nil && list.Items != nil {
		refusals(t, into, path+"[]", string(list.Items))
	}
}
