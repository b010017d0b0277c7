// Package engine executes templates in the language of text/template, on data that has
// fields, keys and functions but no methods. text/template finds methods by their name at
// run time, so that a program with it keeps every method of every type that is in an
// interface anywhere, whether it is called or not: 38 MB of det-deploy's.
//
// The actions, variables, pipelines and errors are text/template's, and its parser reads
// them. Left out are methods, channels, iterators, custom delimiters and the functions
// call, html, js and urlquery. A key that a map does not have is the zero value of the
// map's elements.
package engine

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"text/template/parse"
)

// Set is templates that call each other by name, and the functions that they call.
type Set struct {
	trees map[string]*parse.Tree
	funcs map[string]any
}

// New is a set without templates. A function returns a value, or a value and an error.
func New(funcs map[string]any) *Set {
	all := builtins()
	maps.Copy(all, funcs)
	return &Set{trees: make(map[string]*parse.Tree), funcs: all}
}

// Parse adds a template under a name, and those that its text defines. As in
// text/template, an empty definition does not replace another.
func (s *Set) Parse(name, text string) error {
	trees, err := parse.Parse(name, text, "", "", s.funcs)
	if err != nil {
		return err
	}
	for n, t := range trees {
		if _, found := s.trees[n]; !found || !parse.IsEmptyTree(t.Root) {
			s.trees[n] = t
		}
	}
	return nil
}

// Execute is what a template writes for the data. An error of a template is an Error.
func (s *Set) Execute(name string, data any) (string, error) {
	tree := s.trees[name]
	if tree == nil {
		return "", fmt.Errorf("template: no template %q", name)
	}
	var out strings.Builder
	value := reflect.ValueOf(data)
	st := &state{set: s, tree: tree, out: &out, vars: []variable{{"$", value}}}
	if err := st.walkNode(value, tree.Root); err != nil {
		return "", st.wrapError(err)
	}
	return out.String(), nil
}

// Error is where a template failed, and why.
type Error struct {
	// Location is "name:line:column".
	Location string
	// Err is the cause, which may be the Error of a template that was executed meanwhile.
	Err error

	// name is the template's, and context the text that was executed.
	name, context string
}

// Error is as text/template writes it.
func (e *Error) Error() string {
	return fmt.Sprintf("template: %s: executing %q at <%s>: %v", e.Location, e.name, e.context, e.Err)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// maxDepth is how many templates may be within each other. text/template's own bound is
// 100,000, which takes a gigabyte of stack.
const maxDepth = 1000

var errTooDeep = errors.New("exceeded maximum template depth (1000)")

// state is the execution of one template.
type state struct {
	set   *Set
	tree  *parse.Tree
	out   *strings.Builder
	node  parse.Node // at which an error happened
	vars  []variable
	depth int
}

type variable struct {
	name  string
	value reflect.Value
}

// wrapError says where an error happened, unless a template within this one has.
func (s *state) wrapError(err error) error {
	if within, ok := err.(*nested); ok { //nolint:errorlint // one that is wrapped is the result of a function
		return within.err
	}
	if s.node == nil {
		return fmt.Errorf("template: %s: %w", s.tree.Name, err)
	}
	location, context := s.tree.ErrorContext(s.node)
	return &Error{Location: location, Err: err, name: s.tree.Name, context: context}
}

// nested is an error that says already where it happened.
type nested struct{ err error }

func (n *nested) Error() string { return n.err.Error() }
func (n *nested) Unwrap() error { return n.err }

// lookUp is a variable's value. The parser has refused unknown ones.
func (s *state) lookUp(name string) (*reflect.Value, error) {
	for i := len(s.vars) - 1; i >= 0; i-- {
		if s.vars[i].name == name {
			return &s.vars[i].value, nil
		}
	}
	return nil, fmt.Errorf("undefined variable: %s", name)
}
