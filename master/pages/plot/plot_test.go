package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.1: "0.1", 0.12345: "0.1235", 1234567: "1.235e+06", 99999: "99999", 250.04: "250", -3.5: "-3.5", 1e-5: "1e-05", 0.05: "0.05", 100: "100",
	} {
		if got := Number(v); got != want {
			t.Errorf("%g: got %s, want %s", v, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		axis axis
		want string
	}{
		"linear":           {newAxis("a", []float64{0, 10}, false), "0 2 4 6 8 10"},
		"small":            {newAxis("a", []float64{0.01, 0.05}, false), "0.01 0.02 0.03 0.04 0.05"},
		"powers of ten":    {newAxis("a", []float64{1e-4, 1}, true), "0.0001 0.001 0.01 0.1 1"},
		"log of one range": {newAxis("a", []float64{2, 4}, true), "2 2.5 3 3.5 4"},
		"nothing":          {newAxis("a", nil, false), "0 0.2 0.4 0.6 0.8 1"},
		"not a number":     {newAxis("a", []float64{math.NaN(), math.Inf(1)}, true), "0 0.2 0.4 0.6 0.8 1"},
		"one value":        {newAxis("a", []float64{5}, false), "4.6 4.8 5 5.2 5.4"},
	} {
		var texts []string
		for _, k := range tt.axis.ticks(6) {
			texts = append(texts, k.Text)
		}
		if got := strings.Join(texts, " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

// All values that an axis shows are inside of it, in order, and it has some marks but not many.
func TestAxesHaveRoomForTheirValues(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		values := make([]float64, 1+r.IntN(20))
		for i := range values {
			values[i] = r.NormFloat64() * math.Pow(10, float64(r.IntN(12)-6))
		}
		a := newAxis("a", values, r.IntN(2) == 0)
		for _, v := range values {
			if at := a.at(v); finite(at) && (at < 0 || at > 1) || !a.log && !finite(at) {
				t.Fatalf("seed %d: %g of %v is at %g", seed, v, values, at)
			}
		}
		if n := len(a.ticks(6)); n > 13 {
			t.Fatalf("seed %d: %d marks for %v", seed, n, values)
		}
	}
}

// checkXML returns an error unless a drawing is well formed and finite.
func checkXML(drawing template.HTML) error {
	if strings.Contains(string(drawing), "NaN ") || strings.Contains(string(drawing), `"NaN`) {
		return errors.New("a place is not a number")
	}
	for d := xml.NewDecoder(strings.NewReader(string(drawing))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%w in %s", err, drawing)
		}
	}
}

const hostile = `"><script>alert(1)</script>` + "\u202e\x00"

func TestPlotsEscapeNames(t *testing.T) {
	t.Parallel()
	columns := []Column{
		{Name: hostile, Values: []any{hostile, "b", nil, true}},
		{Name: "lr", Log: true, Values: []any{0.1, 0.0, 1e-5, nil}},
		{Name: "loss", Values: []any{0.5, math.NaN(), math.Inf(1), 3.0}},
	}
	marks := []Mark{{Index: 0, Text: hostile, Link: "javascript:alert(1)"}, {Index: 2, Text: "b", Link: "/det/trials/2"}}
	for name, drawing := range map[string]template.HTML{
		"scatter":  Scatter(hostile, columns[0], columns[2], marks),
		"parallel": Parallel(hostile, columns, marks),
		"curves":   Curves(hostile, hostile, "loss", []Curve{{Name: hostile, X: []float64{1, 2}, Y: []float64{1, 2}}}, false),
	} {
		if err := checkXML(drawing); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(string(drawing), "<script") || strings.Contains(string(drawing), `"javascript:`) {
			t.Errorf("%s: a name is markup: %s", name, drawing)
		}
	}
}

func TestCurvesShowGapsAndWhatIsNoNumber(t *testing.T) {
	t.Parallel()
	drawing := string(Curves("t", "batches", "loss", []Curve{{Name: "a", X: []float64{1, 2, 3, 4}, Y: []float64{1, math.NaN(), 2, 3}}}, false))
	if got := strings.Count(drawing, "h0"); got != 3 { // two parts and one mark
		t.Errorf("got %d starts and marks, want 3:\n%s", got, drawing)
	}
	if !strings.Contains(drawing, `class="lost"`) {
		t.Errorf("NaN is not marked:\n%s", drawing)
	}
}

func TestManyTrialsAreDrawnInLittleSpace(t *testing.T) {
	t.Parallel()
	x, y := Column{Name: "lr"}, Column{Name: "loss"}
	for i := range 1000 {
		x.Values, y.Values = append(x.Values, float64(i)*0.37), append(y.Values, math.Sin(float64(i)))
	}
	if n := len(Scatter("t", x, y, nil)); n > 20_000 {
		t.Errorf("a plot of 1,000 trials has %d bytes", n)
	}
	if n := len(Parallel("t", []Column{x, y, x, y}, nil)); n > 50_000 {
		t.Errorf("lines of 1,000 trials have %d bytes", n)
	}
	many := Column{Name: "id"}
	for i := range 1000 {
		many.Values = append(many.Values, fmt.Sprintf("value %d", i))
	}
	if n := len(Scatter("t", many, y, nil)); n > 20_000 {
		t.Errorf("a plot of 1,000 categories has %d bytes", n)
	}
}
