package hparam_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/det-deploy/det-deploy/master/experiment/hparam"
)

func TestGridPoints(t *testing.T) {
	space := hparam.Space{
		"b": {Int: &hparam.Int{Min: 1, Max: 3, Count: 9}}, // more than the range contains
		"a": {Nested: hparam.Space{
			"y": {Double: &hparam.Double{Min: 0, Max: 1, Count: 3}},
			"x": {Categorical: &hparam.Categorical{Values: []any{"p", "q"}}},
			"z": {Nested: hparam.Space{}},
		}},
		"c": {Log: &hparam.Log{Base: 10, Min: -2, Max: 0, Count: 1}},
		"d": {Const: &hparam.Const{Value: 7}},
		"e": {},
	}
	if n := space.Points(); n != 18 {
		t.Fatalf("%d points, want 18", n)
	}
	for i, want := range map[int]string{
		0:  `{"a":{"x":"p","y":0,"z":{}},"b":1,"c":0.1,"d":7,"e":null}`,
		1:  `{"a":{"x":"p","y":0,"z":{}},"b":2,"c":0.1,"d":7,"e":null}`,
		3:  `{"a":{"x":"p","y":0.5,"z":{}},"b":1,"c":0.1,"d":7,"e":null}`,
		9:  `{"a":{"x":"q","y":0,"z":{}},"b":1,"c":0.1,"d":7,"e":null}`,
		17: `{"a":{"x":"q","y":1,"z":{}},"b":3,"c":0.1,"d":7,"e":null}`,
	} {
		if got, _ := json.Marshal(space.Point(i)); string(got) != want {
			t.Errorf("point %d is %s, want %s", i, got, want)
		}
	}
}

func TestGridInts(t *testing.T) {
	for _, c := range []struct {
		min, max int64
		count    int
		want     string
	}{
		{1, 10, 4, "[1,4,7,10]"},
		{0, 5, 3, "[0,3,5]"}, // halves are rounded away from zero
		{-5, 0, 3, "[-5,-3,0]"},
		{1, 4, 1, "[3]"},
		{7, 7, 5, "[7]"},
		{math.MinInt64, math.MaxInt64, 2, "[-9223372036854775808,9223372036854775807]"},
		{-1 << 62, 1 << 62, 2, "[-4611686018427387904,4611686018427387904]"},
	} {
		space := hparam.Space{"n": {Int: &hparam.Int{Min: c.min, Max: c.max, Count: c.count}}}
		var got []any
		for i := range space.Points() {
			got = append(got, space.Point(i)["n"])
		}
		if text, _ := json.Marshal(got); string(text) != c.want {
			t.Errorf("%d..%d in %d: %s, want %s", c.min, c.max, c.count, text, c.want)
		}
	}
}

func TestGridPointsLimit(t *testing.T) {
	space := hparam.Space{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		space[name] = hparam.Parameter{Double: &hparam.Double{Min: 0, Max: 1, Count: 1 << 40}}
	}
	if n := space.Points(); n <= hparam.Most {
		t.Errorf("%d points", n)
	}
	if n := (hparam.Space{"a": {Double: &hparam.Double{Max: 1}}}).Points(); n != 0 {
		t.Errorf("%d points without a count", n)
	}
	if n := (hparam.Space{}).Points(); n != 1 {
		t.Errorf("%d points without hyperparameters", n)
	}
}

func TestGeneratorAdvanceTo(t *testing.T) {
	a := hparam.NewGenerator(3)
	for range 1000 {
		a.UpTo(1 << 40)
	}
	b := hparam.NewGenerator(3)
	b.AdvanceTo(a.Drawn())
	if x, y := a.DrawID(), b.DrawID(); x != y {
		t.Errorf("%s and %s", x, y)
	}
}
