package metric

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// maxDepth limits the nesting of values.
const maxDepth = 32

// The strings for numbers that JSON cannot represent.
const (
	notANumber       = "NaN"
	infinity         = "Infinity"
	negativeInfinity = "-Infinity"
)

// Number returns a value as a number, including the strings for NaN and infinities.
func Number(value any) (x float64, ok bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case string:
		switch v {
		case notANumber:
			return math.NaN(), true
		case infinity:
			return math.Inf(1), true
		case negativeInfinity:
			return math.Inf(-1), true
		}
	}
	return 0, false
}

// JSONNumber returns x, or the string that represents NaN or an infinity in JSON.
func JSONNumber(x float64) any {
	switch {
	case math.IsNaN(x):
		return notANumber
	case math.IsInf(x, 1):
		return infinity
	case math.IsInf(x, -1):
		return negativeInfinity
	}
	return x
}

// normalize returns the values as they are decoded from the store, so that a repeated report
// compares equal. It returns an error if a value cannot be encoded.
func (v Values) normalize() (Values, error) {
	averages, err := normalizeMap(v.Averages, maxDepth)
	if err != nil {
		return v, err
	}
	n := Values{Averages: averages}
	for _, batch := range v.Batches {
		b, err := normalizeMap(batch, maxDepth)
		if err != nil {
			return v, err
		}
		n.Batches = append(n.Batches, b)
	}
	return n, nil
}

func normalizeMap(m map[string]any, depth int) (map[string]any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("values: must not be nested deeper than %d", maxDepth)
	}
	n := make(map[string]any, len(m))
	for name, value := range m {
		v, err := normalizeValue(value, depth-1)
		if err != nil {
			return nil, err
		}
		n[strings.ToValidUTF8(name, "\uFFFD")] = v
	}
	return n, nil
}

func normalizeValue(value any, depth int) (any, error) {
	switch v := value.(type) {
	case nil, bool:
		return v, nil
	case float64:
		return JSONNumber(v), nil
	case int:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case string:
		return strings.ToValidUTF8(v, "\uFFFD"), nil
	case map[string]any:
		return normalizeMap(v, depth)
	case []any:
		return normalizeList(v, depth)
	}
	return nil, fmt.Errorf("values: must be JSON values (is %T)", value)
}

func normalizeList(list []any, depth int) (any, error) {
	if depth <= 0 {
		return nil, fmt.Errorf("values: must not be nested deeper than %d", maxDepth)
	}
	n := make([]any, len(list))
	for i, e := range list {
		var err error
		if n[i], err = normalizeValue(e, depth-1); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// addValues adds the sent values of a step to the stored ones, and returns the result and the values
// that are new. It returns a ConflictError if a name has a different value.
func (r Report) addValues(sent Values) (all, added Values, err error) {
	all = Values{Averages: maps.Clone(r.Values.Averages), Batches: r.Values.Batches}
	added.Averages = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(sent.Averages)) {
		want := sent.Averages[name]
		have, found := all.Averages[name]
		if found && !reflect.DeepEqual(have, want) {
			return all, added, &ConflictError{Report: r, Name: name, Have: have, Want: want}
		}
		if !found {
			all.Averages[name], added.Averages[name] = want, want
		}
	}
	switch {
	case sent.Batches == nil:
	case all.Batches == nil:
		all.Batches, added.Batches = sent.Batches, sent.Batches
	case !reflect.DeepEqual(all.Batches, sent.Batches):
		return all, added, &ConflictError{Report: r, Name: "the list of batch metrics", Have: len(all.Batches), Want: len(sent.Batches)}
	}
	return all, added, nil
}
