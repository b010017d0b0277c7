package hparam_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"testing"

	"github.com/det-deploy/det-deploy/master/experiment/hparam"
)

// numpyCase is a case that testdata/draw.py recorded.
type numpyCase struct {
	Seed   uint32         `json:"seed"`
	Space  map[string]any `json:"space"`
	Trials []struct {
		Values    map[string]any `json:"hparams"`
		RequestID string         `json:"request_id"`
		Seed      uint32         `json:"seed"`
	} `json:"trials"`
}

// TestNumPyDrawsTheSame compares values, request IDs and seeds with those that NumPy drew.
func TestNumPyDrawsTheSame(t *testing.T) {
	data, err := os.ReadFile("testdata/numpy.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []numpyCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		space, g := readSpace(c.Space), hparam.NewGenerator(c.Seed)
		for i, want := range c.Trials {
			values := plain(t, space.Draw(g))
			if !sameValues(values, want.Values) {
				t.Fatalf("seed %d, trial %d: drew %v, NumPy %v", c.Seed, i+1, values, want.Values)
			}
			if id, seed := g.DrawID(), g.DrawSeed(); id != want.RequestID || seed != want.Seed {
				t.Fatalf("seed %d, trial %d: drew %s and %d, NumPy %s and %d", c.Seed, i+1, id, seed, want.RequestID, want.Seed)
			}
		}
	}
}

func readSpace(m map[string]any) hparam.Space {
	out := hparam.Space{}
	for name, v := range m {
		out[name] = readParameter(v)
	}
	return out
}

func readParameter(v any) hparam.Parameter {
	m, ok := v.(map[string]any)
	if !ok {
		return hparam.Parameter{Const: &hparam.Const{Value: v}}
	}
	number := func(key string) float64 { f, _ := m[key].(float64); return f }
	switch m["type"] {
	case "int":
		return hparam.Parameter{Int: &hparam.Int{Min: int64(number("minval")), Max: int64(number("maxval"))}}
	case "double":
		return hparam.Parameter{Double: &hparam.Double{Min: number("minval"), Max: number("maxval")}}
	case "log":
		return hparam.Parameter{Log: &hparam.Log{Base: number("base"), Min: number("minval"), Max: number("maxval")}}
	case "categorical":
		list, _ := m["vals"].([]any)
		return hparam.Parameter{Categorical: &hparam.Categorical{Values: list}}
	case "const":
		return hparam.Parameter{Const: &hparam.Const{Value: m["val"]}}
	}
	return hparam.Parameter{Nested: readSpace(m)}
}

// plain returns v after a round trip through JSON.
func plain(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// sameValues ignores the last bit of powers, because C and Go round them differently.
func sameValues(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, x := range a {
		switch y := b[name].(type) {
		case float64:
			f, ok := x.(float64)
			if !ok || math.Abs(f-y) > 1e-14*math.Abs(y) {
				return false
			}
		case map[string]any:
			m, ok := x.(map[string]any)
			if !ok || !sameValues(m, y) {
				return false
			}
		default:
			if !reflect.DeepEqual(x, y) {
				return false
			}
		}
	}
	return true
}
