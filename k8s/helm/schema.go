package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/det-deploy/det-deploy/internal/document/naming"
)

// ValuesError lists all violations of the chart's schema.
type ValuesError struct {
	// Lines are sentences, "path: rule (actual value)", sorted by path.
	Lines []string
}

// Error returns one line per violation.
func (e *ValuesError) Error() string { return strings.Join(e.Lines, "\n") }

// Hint returns a suggested fix.
func (e *ValuesError) Hint() string {
	return "change what --set and --values give, or leave a value of a file out with --set NAME=null; `det-deploy k8s values` shows all values and what they mean"
}

// FromFlags returns true, because values come from the command line, or from a file named there.
func (*ValuesError) FromFlags() bool { return true }

// schemaURL is the schema's internal URL; nothing is ever downloaded.
const schemaURL = "file:///values.schema.json"

// CheckValues validates a release's values, merged with the defaults, against the chart's schema.
// It returns a *ValuesError, or an error if the chart cannot be read. The $comment of a violated
// subschema is used as the message.
func CheckValues(r Release) error {
	c, err := r.loadChart()
	if err != nil {
		return err
	}
	if c.Schema == nil {
		return nil
	}
	values, err := mergeValues(c, r.copyValues())
	if err != nil {
		return err
	}
	rules, err := rulesOf(c.Schema)
	if err != nil {
		return fmt.Errorf("read the chart's schema: %w", err)
	}
	broken, ok := errors.AsType[*jsonschema.ValidationError](rules.compiled.Validate(values))
	if !ok {
		return nil
	}
	s := speaker{schema: rules.doc}
	s.explainProblem(broken)
	slices.Sort(s.lines)
	return &ValuesError{Lines: slices.Compact(s.lines)}
}

// rules is a chart's compiled schema.
type rules struct {
	doc      any
	compiled *jsonschema.Schema
}

func rulesOf(schema []byte) (*rules, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, err
	}
	return &rules{doc: doc, compiled: compiled}, nil
}

// AllValues returns a release's values merged with the chart's defaults.
func AllValues(r Release) (map[string]any, error) {
	c, err := r.loadChart()
	if err != nil {
		return nil, err
	}
	all, err := chartutil.CoalesceValues(c, r.copyValues())
	if err != nil {
		return nil, fmt.Errorf("merge the values: %w", err)
	}
	return all, nil
}

// mergeValues returns the values as seen by templates, in JSON types for the schema validation.
func mergeValues(c *chart.Chart, values map[string]any) (any, error) {
	all, err := chartutil.CoalesceValues(c, values)
	if err != nil {
		return nil, fmt.Errorf("merge the values: %w", err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("merge the values: %w", err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("merge the values: %w", err)
	}
	return out, nil
}

// speaker converts a tree of violations to sentences. They contain no given text, which may be a
// secret under a wrong key.
type speaker struct {
	schema any
	lines  []string
}

func (s *speaker) explainProblem(e *jsonschema.ValidationError) {
	if comment := s.schemaComment(e); comment != "" {
		s.addProblem(e.InstanceLocation, comment)
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		s.explainChoice(e)
		return
	case *kind.AdditionalProperties:
		for _, p := range k.Properties {
			s.addProblem(append(slices.Clone(e.InstanceLocation), p), "there is no such value"+s.nearestKey(e, p))
		}
		return
	case *kind.Required:
		for _, p := range k.Missing {
			s.addProblem(append(slices.Clone(e.InstanceLocation), p), "must be given")
		}
		return
	}
	if len(e.Causes) == 0 {
		s.addProblem(e.InstanceLocation, s.brokenRule(e))
		return
	}
	for _, c := range e.Causes {
		s.explainProblem(c)
	}
}

// explainChoice explains a value that matches none of several alternatives. It reports the one that
// matched furthest into the value.
func (s *speaker) explainChoice(e *jsonschema.ValidationError) {
	var best *jsonschema.ValidationError
	deepest := -1
	for _, c := range e.Causes {
		if d := errorDepth(c); d > deepest {
			best, deepest = c, d
		}
	}
	if best == nil || deepest <= len(e.InstanceLocation) {
		s.addProblem(e.InstanceLocation, "must have exactly one of the forms that `det-deploy k8s values` shows")
		return
	}
	s.explainProblem(best)
}

func errorDepth(e *jsonschema.ValidationError) int {
	d := len(e.InstanceLocation)
	for _, c := range e.Causes {
		d = max(d, errorDepth(c))
	}
	return d
}

func (s *speaker) addProblem(at []string, sentence string) {
	path := pathOf(at)
	if path == "" {
		path = "values" // the whole document
	}
	s.lines = append(s.lines, path+": "+sentence)
}

// pathOf formats a path as for --set: "pools[0].pool_name".
func pathOf(at []string) string {
	var b strings.Builder
	for _, p := range at {
		if _, err := strconv.Atoi(p); err == nil {
			b.WriteString("[" + p + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteString(".")
		}
		b.WriteString(strings.ReplaceAll(p, ".", `\.`))
	}
	return b.String()
}

func (*speaker) brokenRule(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s (it is %s)", joinTypes(k.Want), withArticle(k.Got))
	case *kind.Enum:
		return "must be " + oneOf(k.Want) + closestChoice(k.Want, k.Got)
	case *kind.Const:
		return fmt.Sprintf("must be %v", k.Want)
	case *kind.Minimum:
		return fmt.Sprintf("must be at least %s (it is %s)", k.Want.RatString(), k.Got.RatString())
	case *kind.Maximum:
		return fmt.Sprintf("must be at most %s (it is %s)", k.Want.RatString(), k.Got.RatString())
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters (it has %d)", k.Want, k.Got)
	case *kind.Pattern:
		return "must match " + k.Want
	case *kind.FalseSchema, *kind.Not:
		return "may not be given here"
	}
	return "breaks the rule " + strings.Join(e.ErrorKind.KeywordPath(), "/") + " of the chart's schema"
}

// closestChoice returns a suggestion if a choice is similar to the given text, or "".
func closestChoice(words []any, got any) string {
	text, _ := got.(string) // other types have no similar choice
	best, distance := "", 3 // at most two typing errors
	for _, w := range words {
		word, _ := w.(string)
		if d := naming.Distance(strings.ToLower(text), strings.ToLower(word)); text != "" && word != "" && d < distance && d < len(word) {
			best, distance = word, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (is %s meant?)", best)
}

// oneOf formats a list of choices; null and "" both mean empty.
func oneOf(words []any) string {
	var all []string
	prefix := ""
	for _, w := range words {
		if w == nil || w == "" {
			prefix = "empty or "
			continue
		}
		all = append(all, fmt.Sprint(w))
	}
	return prefix + "one of " + strings.Join(all, ", ")
}

func joinTypes(types []string) string {
	all := make([]string, len(types))
	for i, t := range types {
		all[i] = withArticle(t)
	}
	return strings.Join(all, " or ")
}

// withArticle returns a type with its article.
func withArticle(t string) string {
	switch t {
	case "object":
		return "a map"
	case "array":
		return "a list"
	case "null":
		return "empty"
	case "integer":
		return "a whole number"
	case "boolean":
		return "true or false"
	}
	return "a " + t
}

// schemaComment returns the $comment of a violated subschema, or that of the enclosing if/then/else
// or not.
func (s *speaker) schemaComment(e *jsonschema.ValidationError) string {
	at := schemaPointer(e.SchemaURL)
	if c := s.commentAt(at); c != "" {
		return c
	}
	for i, p := range slices.Backward(at) {
		if p != "then" && p != "else" && p != "not" {
			continue
		}
		if c := s.commentAt(at[:i+1]); c != "" {
			return c
		}
		return s.commentAt(at[:i])
	}
	return ""
}

func (s *speaker) commentAt(at []string) string {
	m, _ := lookupPath(s.schema, at).(map[string]any) // a missing subschema has no comment
	c, _ := m["$comment"].(string)
	return c
}

// nearestKey returns a suggestion if a known key is similar to an unknown one, or "".
func (s *speaker) nearestKey(e *jsonschema.ValidationError, key string) string {
	m, _ := lookupPath(s.schema, append(schemaPointer(e.SchemaURL), "properties")).(map[string]any) // without properties there is no similar key
	const most = 3                                                                                  // typing errors at most
	best, distance := "", most+1
	for known := range m {
		if d := naming.Distance(strings.ToLower(key), strings.ToLower(known)); d < distance || (d == distance && best != "" && known < best) {
			best, distance = known, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (is %s meant?)", best)
}

// schemaPointer returns the JSON pointer in a schema's URL.
func schemaPointer(url string) []string {
	_, p, _ := strings.Cut(url, "#")
	p = strings.TrimPrefix(p, "/")
	if p == "" {
		return nil
	}
	parts := strings.Split(p, "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts
}

func lookupPath(doc any, at []string) any {
	for _, p := range at {
		switch d := doc.(type) {
		case map[string]any:
			doc = d[p]
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i < 0 || i >= len(d) {
				return nil
			}
			doc = d[i]
		default:
			return nil
		}
	}
	return doc
}
