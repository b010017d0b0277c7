package engine

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"text/template/parse"
)

// errBreak and errContinue end an iteration from within.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

// walkNode executes a node of a template and writes what comes of it.
func (s *state) walkNode(dot reflect.Value, n parse.Node) error {
	s.node = n
	switch n := n.(type) {
	case *parse.ActionNode:
		v, err := s.evaluatePipe(dot, n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 { // a declaration prints nothing
			return err
		}
		return s.printValue(n, v)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	case *parse.CommentNode:
		return nil
	case *parse.IfNode:
		return s.walkBranch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return s.walkBranch(dot, &n.BranchNode, true)
	case *parse.ListNode:
		return s.walkList(dot, n)
	case *parse.RangeNode:
		return s.walkRange(dot, n)
	case *parse.TemplateNode:
		return s.walkTemplate(dot, n)
	case *parse.TextNode:
		s.out.Write(n.Text)
		return nil
	}
	return fmt.Errorf("unknown node: %s", n)
}

func (s *state) walkList(dot reflect.Value, list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, n := range list.Nodes {
		if err := s.walkNode(dot, n); err != nil {
			return err
		}
	}
	return nil
}

// walkBranch executes an if or a with, whose value becomes the dot.
func (s *state) walkBranch(dot reflect.Value, n *parse.BranchNode, with bool) error {
	defer s.forgetVars(len(s.vars))
	v, err := s.evaluatePipe(dot, n.Pipe)
	if err != nil {
		return err
	}
	truth, ok := isTrue(unwrapInterface(v))
	switch {
	case !ok:
		return fmt.Errorf("if/with can't use %v", v)
	case !truth:
		return s.walkList(dot, n.ElseList)
	case with:
		return s.walkList(v, n.List)
	}
	return s.walkList(dot, n.List)
}

// forgetVars ends the scope of the variables declared since there were this many.
func (s *state) forgetVars(count int) { s.vars = s.vars[:count] }

func (s *state) walkRange(dot reflect.Value, n *parse.RangeNode) error {
	defer s.forgetVars(len(s.vars))
	v, err := s.evaluatePipe(dot, n.Pipe)
	if err != nil {
		return err
	}
	list, _ := dereference(v)
	items, err := itemsOf(list, len(n.Pipe.Decl) > 1)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return s.walkList(dot, n.ElseList)
	}
	count := len(s.vars)
	for _, it := range items {
		err := s.walkItem(n, it)
		s.forgetVars(count)
		if errors.Is(err, errBreak) {
			return nil
		}
		if err != nil && !errors.Is(err, errContinue) {
			return err
		}
	}
	return nil
}

// item is one turn of a range.
type item struct{ key, value reflect.Value }

// itemsOf are the turns of a range over a list, a map by its sorted keys, or a number.
func itemsOf(v reflect.Value, keyed bool) ([]item, error) {
	var out []item
	switch {
	case !v.IsValid():
	case v.CanInt() || v.CanUint():
		if keyed {
			return nil, fmt.Errorf("can't use %v to iterate over more than one variable", v)
		}
		for i := range v.Seq() {
			out = append(out, item{value: i})
		}
	case v.Kind() == reflect.Array, v.Kind() == reflect.Slice:
		for i := range v.Len() {
			out = append(out, item{reflect.ValueOf(i), v.Index(i)})
		}
	case v.Kind() == reflect.Map:
		for _, k := range v.MapKeys() {
			out = append(out, item{k, v.MapIndex(k)})
		}
		slices.SortFunc(out, func(a, b item) int { return compareKeys(unwrapInterface(a.key), unwrapInterface(b.key)) })
	default:
		return nil, fmt.Errorf("range can't iterate over %v", v)
	}
	return out, nil
}

func compareKeys(a, b reflect.Value) int {
	switch {
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String())
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint() && b.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat() && b.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// walkItem executes a range's list once. With two variables the key comes first; the
// pipeline has declared both.
func (s *state) walkItem(n *parse.RangeNode, it item) error {
	given := []reflect.Value{it.value}
	if len(n.Pipe.Decl) > 1 {
		given = []reflect.Value{it.key, it.value}
	}
	for i, decl := range n.Pipe.Decl {
		v, err := s.lookUp(decl.Ident[0])
		if err != nil {
			return err
		}
		*v = given[i]
	}
	return s.walkList(it.value, n.List)
}

func (s *state) walkTemplate(dot reflect.Value, n *parse.TemplateNode) error {
	tree := s.set.trees[n.Name]
	if tree == nil {
		return fmt.Errorf("template %q not defined", n.Name)
	}
	if s.depth == maxDepth {
		return errTooDeep
	}
	dot, err := s.evaluatePipe(dot, n.Pipe)
	if err != nil {
		return err
	}
	within := &state{set: s.set, tree: tree, out: s.out, vars: []variable{{"$", dot}}, depth: s.depth + 1}
	if err := within.walkNode(dot, tree.Root); err != nil {
		return &nested{within.wrapError(err)}
	}
	return nil
}
