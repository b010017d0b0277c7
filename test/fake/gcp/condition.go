package gcptest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// holds reports whether a binding applies to a resource: its condition is missing or true.
// Conditions were validated when they were stored.
func (c *condition) holds(on resourceName) bool {
	if c == nil {
		return true
	}
	e, err := parseCondition(c.Expression)
	return err == nil && e(on)
}

// expression is a parsed condition.
type expression func(on resourceName) bool

// parseCondition parses the part of Google's condition language about resource names:
// resource.name, resource.type and resource.service with comparison, startsWith and endsWith,
// combined by !, && and ||. https://cloud.google.com/iam/docs/conditions-attribute-reference
func parseCondition(text string) (expression, error) {
	p := &conditionParser{tokens: conditionToken.FindAllString(text, -1)}
	if strings.Join(p.tokens, "") != strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }), "") && !strings.Contains(text, `" `) {
		return nil, errors.New("cannot be read")
	}
	e, err := p.either()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("%q is too much", p.tokens[0])
	}
	return e, err
}

var conditionToken = regexp.MustCompile(`"[^"]*"|'[^']*'|&&|\|\||==|!=|!|\(|\)|[a-zA-Z_.]+`)

type conditionParser struct{ tokens []string }

func (p *conditionParser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *conditionParser) take(token string) bool {
	if len(p.tokens) == 0 || p.tokens[0] != token {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

func (p *conditionParser) either() (expression, error) {
	a, err := p.both()
	for err == nil && p.take("||") {
		var b expression
		left := a
		b, err = p.both()
		a = func(on resourceName) bool { return left(on) || b(on) }
	}
	return a, err
}

func (p *conditionParser) both() (expression, error) {
	a, err := p.unit()
	for err == nil && p.take("&&") {
		var b expression
		left := a
		b, err = p.unit()
		a = func(on resourceName) bool { return left(on) && b(on) }
	}
	return a, err
}

func (p *conditionParser) unit() (expression, error) {
	if p.take("!") {
		e, err := p.unit()
		return func(on resourceName) bool { return !e(on) }, err
	}
	if p.take("(") {
		e, err := p.either()
		if err == nil && !p.take(")") {
			err = errors.New("a ) is missing")
		}
		return e, err
	}
	return p.compare()
}

// compare parses resource.name.startsWith("x") and resource.type == "x".
func (p *conditionParser) compare() (expression, error) {
	attribute := p.next()
	name, verb, _ := strings.Cut(strings.TrimPrefix(attribute, "resource."), ".")
	get, found := map[string]func(resourceName) string{
		"name":    func(on resourceName) string { return on.name },
		"type":    func(on resourceName) string { return on.kind },
		"service": func(on resourceName) string { s, _, _ := strings.Cut(on.kind, "/"); return s },
	}[name]
	if !found || !strings.HasPrefix(attribute, "resource.") {
		return nil, fmt.Errorf("%q is no attribute that this world knows", attribute)
	}
	if verb == "" {
		verb = p.next()
	} else if !p.take("(") {
		return nil, errors.New("a ( is missing")
	}
	return p.verb(get, verb)
}

func (p *conditionParser) verb(get func(resourceName) string, verb string) (expression, error) {
	value := p.next()
	if len(value) < 2 || value[0] != '"' && value[0] != '\'' {
		return nil, fmt.Errorf("%q is no text", value)
	}
	value = value[1 : len(value)-1]
	ask, found := map[string]func(a, b string) bool{
		"==": func(a, b string) bool { return a == b }, "!=": func(a, b string) bool { return a != b },
		"startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix,
	}[verb]
	if !found {
		return nil, fmt.Errorf("%q is no comparison that this world knows", verb)
	}
	if strings.HasSuffix(verb, "With") && !p.take(")") {
		return nil, errors.New("a ) is missing")
	}
	return func(on resourceName) bool { return ask(get(on), value) }, nil
}
