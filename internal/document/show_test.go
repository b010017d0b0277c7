package document

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"
)

// FuzzShownNumber checks that a number encoded without YAML has the same form as with it, and as
// with encoding/json.
func FuzzShownNumber(f *testing.F) {
	for _, n := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.1, -2.5, 1e14, 1e15 - 1, 1e15, 1e15 + 2, -1e15, 1e20, 1e21, 1e22, 5e-324, math.MaxFloat64, 1 << 53, 3.0000000000000004,
	} {
		f.Add(n, int64(n))
	}
	f.Add(1.0, int64(math.MaxInt64))
	f.Add(1.0, int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, number float64, whole int64) {
		if math.IsNaN(number) || math.IsInf(number, 0) {
			t.Skip("no configuration has it")
		}
		values := []any{number, whole, int(whole), int32(whole), time.Duration(whole)} //nolint:gosec // any value will do
		if small := float32(number); !math.IsInf(float64(small), 0) {
			values = append(values, small)
		}
		for _, value := range values {
			show := func(plain bool) any {
				e := encoder{plain: plain}
				return plainNode(e.encodeScalar(reflect.ValueOf(value)))
			}
			quick, slow := showJSON(t, show(true)), showJSON(t, show(false))
			if quick != slow {
				t.Errorf("%T %v: shown as %s, over YAML as %s", value, value, quick, slow)
			}
		}
	})
}

func showJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
