package engine

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"
)

// final is what the command before gives to the next of a pipeline; none is nil.
type final = *reflect.Value

// evaluatePipe is the value of a pipeline, which it gives to the variables that the
// pipeline declares or assigns.
func (s *state) evaluatePipe(dot reflect.Value, pipe *parse.PipeNode) (reflect.Value, error) {
	var value reflect.Value
	if pipe == nil {
		return value, nil
	}
	s.node = pipe
	var last final
	for _, cmd := range pipe.Cmds {
		v, err := s.evaluateCommand(dot, cmd, last)
		if err != nil {
			return v, err
		}
		if v.Kind() == reflect.Interface && v.Type().NumMethod() == 0 {
			v = v.Elem()
		}
		value = v
		last = &value
	}
	for _, decl := range pipe.Decl {
		if !pipe.IsAssign {
			s.vars = append(s.vars, variable{decl.Ident[0], value})
			continue
		}
		v, err := s.lookUp(decl.Ident[0])
		if err != nil {
			return value, err
		}
		*v = value
	}
	return value, nil
}

func (s *state) evaluateCommand(dot reflect.Value, cmd *parse.CommandNode, last final) (reflect.Value, error) {
	first := cmd.Args[0]
	if n, ok := first.(*parse.IdentifierNode); ok {
		return s.callFunction(dot, call{n, cmd, cmd.Args[1:], last})
	}
	s.node = first
	if len(cmd.Args) > 1 || last != nil {
		return reflect.Value{}, fmt.Errorf("can't give argument to non-function %s", first)
	}
	if _, ok := first.(*parse.NilNode); ok {
		return reflect.Value{}, errors.New("nil is not a command")
	}
	return s.evaluateNode(dot, first)
}

// evaluateNode is the value of a node that no type is expected of.
func (s *state) evaluateNode(dot reflect.Value, n parse.Node) (reflect.Value, error) {
	s.node = n
	switch n := n.(type) {
	case *parse.BoolNode:
		return reflect.ValueOf(n.True), nil
	case *parse.DotNode:
		return dot, nil
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *parse.NumberNode:
		return constant(n)
	case *parse.NilNode:
		return reflect.Value{}, nil
	case *parse.PipeNode:
		return s.evaluatePipe(dot, n)
	case *parse.IdentifierNode:
		return s.callFunction(dot, call{n, n, nil, nil})
	case *parse.FieldNode:
		return s.evaluateFields(dot, n.Ident)
	case *parse.VariableNode:
		v, err := s.lookUp(n.Ident[0])
		if err != nil {
			return reflect.Value{}, err
		}
		return s.evaluateFields(*v, n.Ident[1:])
	case *parse.ChainNode:
		if n.Node.Type() == parse.NodeNil {
			return reflect.Value{}, fmt.Errorf("indirection through explicit nil in %s", n)
		}
		v, err := s.evaluateNode(dot, n.Node)
		if err != nil {
			return v, err
		}
		return s.evaluateFields(v, n.Field)
	}
	return reflect.Value{}, fmt.Errorf("can't evaluate command %q", n)
}

// constant is a number that no type is expected of, in the type that Go would give it.
func constant(n *parse.NumberNode) (reflect.Value, error) {
	switch {
	case n.IsComplex:
		return reflect.ValueOf(n.Complex128), nil
	case n.IsFloat && writtenAsFloat(n.Text):
		return reflect.ValueOf(n.Float64), nil
	case n.IsInt:
		return reflect.ValueOf(int(n.Int64)), nil
	}
	return reflect.Value{}, fmt.Errorf("%s overflows int", n.Text)
}

// writtenAsFloat tells 1.0 and 1e3 from 0x1e and 'e'.
func writtenAsFloat(text string) bool {
	digits := strings.ToLower(strings.TrimLeft(text, "+-"))
	switch {
	case strings.HasPrefix(digits, "'"):
		return false
	case strings.HasPrefix(digits, "0x"):
		return strings.Contains(digits, "p")
	}
	return strings.ContainsAny(digits, ".ep")
}

// evaluateFields follows a chain of fields and keys.
func (*state) evaluateFields(v reflect.Value, names []string) (reflect.Value, error) {
	for _, name := range names {
		var err error
		if v, err = fieldOf(v, name); err != nil {
			return v, err
		}
	}
	return v, nil
}

// fieldOf is a field of a struct or the value of a map's key.
func fieldOf(v reflect.Value, name string) (reflect.Value, error) {
	if !v.IsValid() {
		return v, nil // as text/template has it
	}
	of := v.Type()
	v, null := dereference(v)
	switch {
	case null:
		return v, fmt.Errorf("nil pointer evaluating %s.%s", of, name)
	case v.Kind() == reflect.Struct:
		f, found := v.Type().FieldByName(name)
		if !found {
			break
		}
		if !f.IsExported() {
			return v, fmt.Errorf("%s is an unexported field of struct type %s", name, of)
		}
		return v.FieldByIndexErr(f.Index)
	case v.Kind() == reflect.Map:
		key := reflect.ValueOf(name)
		if !key.Type().AssignableTo(v.Type().Key()) {
			break
		}
		if found := v.MapIndex(key); found.IsValid() {
			return found, nil
		}
		return reflect.Zero(v.Type().Elem()), nil
	}
	return v, fmt.Errorf("can't evaluate field %s in type %s", name, of)
}
