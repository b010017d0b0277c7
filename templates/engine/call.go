package engine

import (
	"fmt"
	"reflect"
	"text/template/parse"
)

// call is a function with what it is given.
type call struct {
	*parse.IdentifierNode

	// whole is the command that it is the first word of.
	whole parse.Node
	args  []parse.Node
	// last is one argument more, from the command before.
	last final
}

var (
	errorType = reflect.TypeFor[error]()
	valueType = reflect.TypeFor[reflect.Value]()
)

func (s *state) callFunction(dot reflect.Value, c call) (reflect.Value, error) {
	s.node = c.IdentifierNode
	if c.Ident == "and" || c.Ident == "or" {
		return s.chooseValue(dot, c)
	}
	f := reflect.ValueOf(s.set.funcs[c.Ident])
	if !f.IsValid() {
		return f, fmt.Errorf("%q is not a defined function", c.Ident)
	}
	if err := checkFunction(c, f.Type()); err != nil {
		return reflect.Value{}, err
	}
	args := make([]reflect.Value, 0, len(c.args)+1)
	for i, n := range c.args {
		v, err := s.evaluateArgument(dot, n, parameter(f.Type(), i))
		if err != nil {
			return v, err
		}
		args = append(args, v)
	}
	if c.last != nil {
		v, err := assign(*c.last, parameter(f.Type(), len(args)))
		if err != nil {
			return v, err
		}
		args = append(args, v)
	}
	v, err := callSafely(f, args)
	if err != nil {
		s.node = c.whole
		return v, fmt.Errorf("error calling %s: %w", c.Ident, err)
	}
	return v, nil
}

// checkFunction holds a call against the function's parameters and results.
func checkFunction(c call, t reflect.Type) error {
	count := len(c.args)
	if c.last != nil {
		count++
	}
	if least := t.NumIn() - 1; t.IsVariadic() && count < least {
		return fmt.Errorf("wrong number of args for %s: want at least %d got %d", c.Ident, least, len(c.args))
	}
	if !t.IsVariadic() && count != t.NumIn() {
		return fmt.Errorf("wrong number of args for %s: want %d got %d", c.Ident, t.NumIn(), count)
	}
	if t.NumOut() == 1 || (t.NumOut() == 2 && t.Out(1) == errorType) {
		return nil
	}
	return fmt.Errorf("function %s must return a value, or a value and an error", c.Ident)
}

// parameter is the type of a function's parameter; the last of a variadic one is repeated.
func parameter(t reflect.Type, i int) reflect.Type {
	if last := t.NumIn() - 1; t.IsVariadic() && i >= last {
		return t.In(last).Elem()
	}
	return t.In(i)
}

// callSafely calls a function. One that panics has failed.
func callSafely(f reflect.Value, args []reflect.Value) (out reflect.Value, err error) {
	defer func() {
		r := recover()
		if cause, ok := r.(error); ok {
			err = cause
		} else if r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	results := f.Call(args)
	if len(results) == 2 && !results[1].IsNil() {
		err, _ = results[1].Interface().(error) // it is one
	}
	if out = results[0]; out.Type() == valueType {
		out, _ = out.Interface().(reflect.Value) // it is one
	}
	return out, err
}

// chooseValue is and, or: the first value that decides, or the last. What comes after is
// not evaluated.
func (s *state) chooseValue(dot reflect.Value, c call) (reflect.Value, error) {
	if len(c.args) == 0 && c.last == nil {
		return reflect.Value{}, fmt.Errorf("wrong number of args for %s: want at least 1 got 0", c.Ident)
	}
	var v reflect.Value
	for _, n := range c.args {
		var err error
		if v, err = s.evaluateNode(dot, n); err != nil {
			return v, err
		}
		v = unwrapInterface(v)
		if truth, _ := isTrue(v); truth == (c.Ident == "or") {
			return v, nil
		}
	}
	if c.last != nil {
		v = *c.last
	}
	return v, nil
}

// evaluateArgument is the value of an argument, as the parameter's type. Only constants
// are converted.
func (s *state) evaluateArgument(dot reflect.Value, n parse.Node, t reflect.Type) (reflect.Value, error) {
	s.node = n
	if t.Kind() != reflect.Interface && t != valueType {
		switch n := n.(type) {
		case *parse.BoolNode, *parse.StringNode, *parse.NumberNode:
			return convertConstant(n, t)
		}
	}
	if _, ok := n.(*parse.NilNode); ok {
		if !canBeNil(t) {
			return reflect.Value{}, fmt.Errorf("cannot assign nil to %s", t)
		}
		return reflect.Zero(t), nil
	}
	v, err := s.evaluateNode(dot, n)
	if err != nil {
		return v, err
	}
	return assign(v, t)
}

// convertConstant is a constant in a parameter's type.
func convertConstant(n parse.Node, t reflect.Type) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	expected := t.Kind().String()
	switch n := n.(type) {
	case *parse.BoolNode:
		if v.Kind() == reflect.Bool {
			v.SetBool(n.True)
			return v, nil
		}
	case *parse.StringNode:
		if v.Kind() == reflect.String {
			v.SetString(n.Text)
			return v, nil
		}
	case *parse.NumberNode:
		switch {
		case v.CanInt():
			expected = "integer"
			if n.IsInt {
				v.SetInt(n.Int64)
				return v, nil
			}
		case v.CanUint():
			expected = "unsigned integer"
			if n.IsUint {
				v.SetUint(n.Uint64)
				return v, nil
			}
		case v.CanFloat():
			expected = "float"
			if n.IsFloat {
				v.SetFloat(n.Float64)
				return v, nil
			}
		}
	}
	return v, fmt.Errorf("expected %s; found %s", expected, n)
}

// assign is a value as a parameter's type: as it is, what an interface holds, or what a
// pointer points at.
func assign(v reflect.Value, t reflect.Type) (reflect.Value, error) {
	switch {
	case t == valueType:
		return reflect.ValueOf(v), nil
	case !v.IsValid() && canBeNil(t):
		return reflect.Zero(t), nil
	case !v.IsValid():
		return v, fmt.Errorf("invalid value; expected %s", t)
	case v.Type().AssignableTo(t):
		return v, nil
	}
	if v.Kind() == reflect.Interface && !v.IsNil() {
		if v = v.Elem(); v.Type().AssignableTo(t) {
			return v, nil
		}
	}
	if v.Kind() == reflect.Pointer && v.Type().Elem().AssignableTo(t) {
		if v.IsNil() {
			return v, fmt.Errorf("dereference of nil pointer of type %s", t)
		}
		return v.Elem(), nil
	}
	return v, fmt.Errorf("wrong type for value; expected %s; got %s", t, v.Type())
}

func canBeNil(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return true
	default:
		return t == valueType
	}
}
