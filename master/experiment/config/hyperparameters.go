package config

import (
	"bytes"
	"encoding/json"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/experiment/hparam"
)

// Hyperparameters maps names to hyperparameters.
type Hyperparameters map[string]Hyperparameter

// Hyperparameter is a constant, a search range or a mapping of nested hyperparameters. The zero
// value is the constant null.
type Hyperparameter struct {
	Const       *Const
	Int         *Int
	Double      *Double
	Log         *Log
	Categorical *Categorical
	Nested      Hyperparameters
}

// Const is a constant.
type Const struct {
	Value document.Raw `yaml:"val"`
}

// Int is a range of integers, both limits included.
type Int struct {
	Min   *int64 `yaml:"minval"`
	Max   *int64 `yaml:"maxval"`
	Count *int   `yaml:"count"`
}

// Double is a range of real numbers.
type Double struct {
	Min   *float64 `yaml:"minval"`
	Max   *float64 `yaml:"maxval"`
	Count *int     `yaml:"count"`
}

// Log is Base raised to a real number between Min and Max.
type Log struct {
	Base  *float64 `yaml:"base"`
	Min   *float64 `yaml:"minval"`
	Max   *float64 `yaml:"maxval"`
	Count *int     `yaml:"count"`
}

// Categorical is a list of alternatives.
type Categorical struct {
	Values document.Raw `yaml:"vals"`
}

// typed decodes the forms of a Hyperparameter that have a type key.
type typed Hyperparameter

// Variants lists the types.
func (t *typed) Variants() []document.Variant {
	return []document.Variant{
		{Type: "const", Field: &t.Const},
		{Type: "int", Field: &t.Int},
		{Type: "double", Field: &t.Double},
		{Type: "log", Field: &t.Log},
		{Type: "categorical", Field: &t.Categorical},
	}
}

// UnmarshalDocument reads a mapping with a type, a mapping of nested hyperparameters, or any other
// value as a constant.
func (h *Hyperparameter) UnmarshalDocument(v document.Value) {
	switch {
	case v.Has("type"):
		var t typed
		if v.Decode(&t) {
			*h = Hyperparameter(t)
		}
	case v.IsMapping():
		h.Nested = Hyperparameters{}
		v.Decode(&h.Nested)
	default:
		h.Const = &Const{}
		v.Decode(&h.Const.Value)
	}
}

// MarshalDocument writes the hyperparameter with its type.
func (h Hyperparameter) MarshalDocument() any {
	if h.Nested != nil {
		return h.Nested
	}
	if h.isNull() {
		return map[string]any{"type": "const", "val": nil}
	}
	t := typed(h)
	return &t
}

func (h Hyperparameter) isNull() bool {
	if h.Const != nil {
		return h.Const.Value.IsZero()
	}
	return h.Int == nil && h.Double == nil && h.Log == nil && h.Categorical == nil
}

// DocumentShape describes the accepted forms.
func (Hyperparameter) DocumentShape() string {
	return "value, {type: …}, or mapping of hyperparameters"
}

// makeSpace returns the search space. The hyperparameters must be valid.
func (h Hyperparameters) makeSpace() hparam.Space {
	out := hparam.Space{}
	for name, p := range h {
		out[name] = p.makeParameter()
	}
	return out
}

func (h Hyperparameter) makeParameter() hparam.Parameter {
	switch {
	case h.Int != nil:
		return hparam.Parameter{Int: &hparam.Int{Min: *h.Int.Min, Max: *h.Int.Max, Count: valueOf(h.Int.Count)}}
	case h.Double != nil:
		return hparam.Parameter{Double: &hparam.Double{Min: *h.Double.Min, Max: *h.Double.Max, Count: valueOf(h.Double.Count)}}
	case h.Log != nil:
		return hparam.Parameter{Log: &hparam.Log{Base: *h.Log.Base, Min: *h.Log.Min, Max: *h.Log.Max, Count: valueOf(h.Log.Count)}}
	case h.Categorical != nil:
		return hparam.Parameter{Categorical: &hparam.Categorical{Values: listOf(h.Categorical.Values)}}
	case h.Nested != nil:
		return hparam.Parameter{Nested: h.Nested.makeSpace()}
	case h.Const != nil:
		return hparam.Parameter{Const: &hparam.Const{Value: plainOf(h.Const.Value)}}
	}
	return hparam.Parameter{}
}

// plainOf decodes a value and preserves the notation of numbers.
func plainOf(r document.Raw) any {
	if r.IsZero() {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.JSON()))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil { // cannot fail: it was validated when it was read
		panic(err)
	}
	return out
}

func listOf(r document.Raw) []any {
	list, _ := plainOf(r).([]any)
	return list
}

// valueOf returns the value that p points to, or the zero value if p is nil.
func valueOf[T any](p *T) T {
	if p == nil {
		var none T
		return none
	}
	return *p
}
