package hparam

import (
	"strings"
	"testing"
)

func TestSpaceSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		space Space
		want  int
	}{
		{"nothing", Space{}, 0},
		{"one of each", Space{"a": {Int: &Int{}}, "b": {Double: &Double{}}, "c": {Log: &Log{}}, "d": {}}, 4},
		{"a list", Space{"a": {Const: &Const{Value: []any{1.0, 2.0, []any{3.0}}}}}, 5},
		{"a mapping", Space{"a": {Const: &Const{Value: map[string]any{"x": 1.0, "y": nil}}}}, 3},
		{"the largest choice", Space{"a": {Categorical: &Categorical{Values: []any{1.0, []any{1.0, 2.0}}}}}, 3},
		{"nested", Space{"a": {Nested: Space{"b": {Int: &Int{}}, "c": {Int: &Int{}}}}}, 3},
		{"a long text", Space{"a": {Const: &Const{Value: strings.Repeat("x", 6400)}}}, 101},
		{"a long name", Space{strings.Repeat("x", 6400): {Int: &Int{}}}, 101},
	} {
		if got := c.space.Size(); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
