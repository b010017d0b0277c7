package gcptest

import (
	"fmt"
	"regexp"
	"strings"
)

// filter returns the items that match the request's filter.
// https://cloud.google.com/compute/docs/reference/rest/v1/instances/list (filter)
func (c *call) filter(items []any) ([]any, error) {
	text := c.query.Get("filter")
	if text == "" || c.opt.IgnoreFilters {
		return items, nil
	}
	match, err := parseFilter(text)
	if err == nil && c.service.Name == "compute" && !c.opt.Foreign {
		err = checkParentheses(text)
	}
	if err != nil {
		return nil, invalid("Invalid value for field 'filter': '%s'. Invalid list filter expression: %v.", text, err)
	}
	var out []any
	for _, item := range items {
		if match(asMap(item)) {
			out = append(out, item)
		}
	}
	return out, nil
}

// checkParentheses returns an error for adjacent expressions without parentheses, which Compute
// Engine requires around each: (status = RUNNING) (labels.team = vision).
// https://cloud.google.com/compute/docs/reference/rest/v1/instances/list (filter)
func checkParentheses(text string) error {
	depth, bare := 0, 0
	for _, token := range filterToken.FindAllString(text, -1) {
		switch token {
		case "(":
			depth++
		case ")":
			depth--
		case "=", "!=", ":", "<", ">", "<=", ">=", "eq", "ne":
			if depth == 0 {
				bare++
			}
		case "AND", "OR":
			if depth == 0 && bare > 0 {
				return fmt.Errorf("each of several expressions must be in parentheses")
			}
		}
	}
	if bare > 1 || bare == 1 && strings.HasPrefix(text, "(") {
		return fmt.Errorf("each of several expressions must be in parentheses")
	}
	return nil
}

type filterFunc func(item map[string]any) bool

var filterToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\(|\)|!=|>=|<=|[=:<>]|[^\s()=:!<>"]+|!`)

// parseFilter parses comparisons that are combined by AND, OR, NOT or adjacency, with parentheses.
func parseFilter(text string) (filterFunc, error) {
	p := &filterParser{tokens: filterToken.FindAllString(text, -1)}
	f, err := p.either()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("%q is too much", p.tokens[0])
	}
	return f, err
}

type filterParser struct{ tokens []string }

func (p *filterParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *filterParser) next() string {
	t := p.peek()
	if t != "" {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *filterParser) either() (filterFunc, error) {
	a, err := p.both()
	for err == nil && p.peek() == "OR" {
		p.next()
		var b filterFunc
		left := a
		b, err = p.both()
		a = func(i map[string]any) bool { return left(i) || b(i) }
	}
	return a, err
}

func (p *filterParser) both() (filterFunc, error) {
	a, err := p.unit()
	for err == nil && p.peek() != "" && p.peek() != ")" && p.peek() != "OR" {
		if p.peek() == "AND" {
			p.next()
		}
		var b filterFunc
		left := a
		b, err = p.unit()
		a = func(i map[string]any) bool { return left(i) && b(i) }
	}
	return a, err
}

func (p *filterParser) unit() (filterFunc, error) {
	switch p.peek() {
	case "NOT", "!":
		p.next()
		f, err := p.unit()
		return func(i map[string]any) bool { return !f(i) }, err
	case "(":
		p.next()
		f, err := p.either()
		if p.next() != ")" {
			return nil, fmt.Errorf("a ) is missing")
		}
		return f, err
	}
	return p.compare()
}

func (p *filterParser) compare() (filterFunc, error) {
	name, verb := p.next(), p.next()
	value := strings.ReplaceAll(strings.Trim(p.next(), `"`), `\"`, `"`)
	switch verb {
	case "=", "eq":
		return func(i map[string]any) bool { return equal(valueAt(i, name), value, verb) }, nil
	case "!=", "ne":
		return func(i map[string]any) bool { return !equal(valueAt(i, name), value, verb) }, nil
	case ":":
		return func(i map[string]any) bool { return has(valueAt(i, name), value) }, nil
	case ">=", "<=", ">", "<":
		return func(i map[string]any) bool { return ordered(fmt.Sprint(valueAt(i, name)), verb, value) }, nil
	}
	return nil, fmt.Errorf("%q does not compare", strings.TrimSpace(name+" "+verb))
}

// valueAt returns the value at a path such as "labels.det-deploy-cluster". Keys may contain dots.
func valueAt(item map[string]any, name string) any {
	if v, found := item[name]; found {
		return v
	}
	for i := range name {
		if name[i] != '.' {
			continue
		}
		if sub, ok := item[name[:i]].(map[string]any); ok {
			return valueAt(sub, strings.Trim(name[i+1:], `"`))
		}
	}
	return nil
}

// equal compares a value. "eq" and "ne" take a regular expression.
func equal(v any, want, verb string) bool {
	have := ""
	if v != nil {
		have = fmt.Sprint(v)
	}
	if verb != "eq" && verb != "ne" {
		return have == want
	}
	re, err := regexp.Compile("^(?:" + want + ")$")
	return err == nil && re.MatchString(have)
}

// has implements the operator ":": "*" matches any existing value, other values match a substring
// or list element.
func has(v any, want string) bool {
	if want == "*" || v == nil {
		return v != nil
	}
	return strings.Contains(strings.ToLower(fmt.Sprint(v)), strings.ToLower(strings.Trim(want, "*")))
}

func ordered(have, verb, want string) bool {
	switch verb {
	case ">":
		return have > want
	case ">=":
		return have >= want
	case "<":
		return have < want
	}
	return have <= want
}
