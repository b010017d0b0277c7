// Package hparam reads the hyperparameters of experiments and trials from what the API answers.
package hparam

import (
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/pages/plot"
)

// Spec is a hyperparameter that a search varies.
type Spec struct {
	Name string
	// Log is set if it is drawn on a logarithmic scale.
	Log bool
}

// deepest is the number of levels of nested hyperparameters that are read.
const deepest = 16

// Varying returns the hyperparameters in a configuration that differ between trials, in order.
func Varying(config *structpb.Struct) []Spec {
	var all []Spec
	var read func(prefix string, s *structpb.Struct, depth int)
	read = func(prefix string, s *structpb.Struct, depth int) {
		for _, name := range slices.Sorted(maps.Keys(s.GetFields())) {
			inner := s.GetFields()[name].GetStructValue()
			switch kind := inner.GetFields()["type"].GetStringValue(); {
			case inner == nil || kind == "const":
			case kind != "":
				all = append(all, Spec{prefix + name, kind == "log"})
			case depth < deepest:
				read(prefix+name+".", inner, depth+1)
			}
		}
	}
	read("", config.GetFields()["hyperparameters"].GetStructValue(), 0)
	return all
}

// Flatten returns hyperparameters by name. Those in others have names such as optimizer.lr.
func Flatten(hparams *structpb.Struct) map[string]*structpb.Value {
	out := map[string]*structpb.Value{}
	var read func(prefix string, s *structpb.Struct, depth int)
	read = func(prefix string, s *structpb.Struct, depth int) {
		for name, v := range s.GetFields() {
			if inner := v.GetStructValue(); inner != nil && depth < deepest {
				read(prefix+name+".", inner, depth+1)
				continue
			}
			out[prefix+name] = v
		}
	}
	read("", hparams, 0)
	return out
}

// Value returns a value for a plot, or nil if there is none.
func Value(v *structpb.Value) any {
	switch k := v.GetKind().(type) {
	case nil, *structpb.Value_NullValue:
		return nil
	case *structpb.Value_NumberValue:
		return k.NumberValue
	case *structpb.Value_BoolValue:
		return k.BoolValue
	}
	return Text(v)
}

// longest is the number of bytes of a value in a text.
const longest = 200

// Short returns a value as a text for a table, in which a fraction has four digits.
func Short(v *structpb.Value) string {
	if n, ok := v.GetKind().(*structpb.Value_NumberValue); ok && n.NumberValue != math.Trunc(n.NumberValue) {
		return plot.Number(n.NumberValue)
	}
	return Text(v)
}

// Text returns a value as a text: numbers with all digits, lists as JSON, and no value as "".
func Text(v *structpb.Value) string {
	text := ""
	switch k := v.GetKind().(type) {
	case nil, *structpb.Value_NullValue:
		return ""
	case *structpb.Value_StringValue:
		text = k.StringValue
	default:
		b, err := protojson.MarshalOptions{}.Marshal(v)
		if err != nil {
			return "?"
		}
		text = strings.ReplaceAll(string(b), " ", "")
	}
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
