package hparam

import "encoding/json"

// textUnit is the number of bytes that count as one value.
const textUnit = 64

// Size returns the maximum number of values of a trial. Long texts and names count as several
// values.
func (s Space) Size() int {
	n := 0
	for name, p := range s {
		n += len(name)/textUnit + p.size()
	}
	return n
}

func (p Parameter) size() int {
	switch {
	case p.Nested != nil:
		return 1 + p.Nested.Size()
	case p.Const != nil:
		return SizeOf(p.Const.Value)
	case p.Categorical != nil:
		most := 1
		for _, v := range p.Categorical.Values {
			most = max(most, SizeOf(v))
		}
		return most
	}
	return 1
}

// SizeOf returns the number of values in value, counted as by Space.Size.
func SizeOf(value any) int {
	n := 1
	switch v := value.(type) {
	case string:
		n += len(v) / textUnit
	case json.Number:
		n += len(v) / textUnit
	case []any:
		for _, one := range v {
			n += SizeOf(one)
		}
	case map[string]any:
		for name, one := range v {
			n += len(name)/textUnit + SizeOf(one)
		}
	}
	return n
}
