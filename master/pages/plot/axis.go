package plot

import (
	"math"
	"strconv"
)

// axis converts values to positions from 0 to 1.
type axis struct {
	name   string
	lo, hi float64
	log    bool
	// labels are the values of an axis of categories, by position.
	labels []string
}

// newAxis returns an axis that has room for all finite values. A logarithmic axis shows only values
// above 0; it is linear if there are none.
func newAxis(name string, values []float64, log bool) axis {
	lo, hi := span(values, log)
	if log && math.IsInf(lo, 1) {
		log = false
		lo, hi = span(values, false)
	}
	a := axis{name: name, log: log}
	switch {
	case math.IsInf(lo, 1): // no values
		lo, hi = 0, 1
	case lo == hi && log:
		lo, hi = lo/2, hi*2
	case lo == hi:
		room := math.Max(math.Abs(lo)/10, 1e-9)
		lo, hi = lo-room, hi+room
	}
	a.lo, a.hi = lo, hi
	if log {
		a.lo, a.hi = math.Log10(lo), math.Log10(hi)
		a.name += " (log)"
	}
	room := (a.hi - a.lo) * 0.03
	a.lo, a.hi = a.lo-room, a.hi+room
	return a
}

// span returns the smallest and largest finite value; without any, the smallest is infinite.
func span(values []float64, positive bool) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) && (!positive || v > 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// at returns the position of a value, or NaN if the axis does not show it.
func (a axis) at(v float64) float64 {
	if a.log {
		if v <= 0 {
			return math.NaN()
		}
		v = math.Log10(v)
	}
	if !finite(v) {
		return math.NaN()
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// ticks returns about n marks at round values, or at the categories.
func (a axis) ticks(n int) []tick {
	if a.labels != nil {
		return a.labelTicks(2 * n)
	}
	if a.log && a.hi-a.lo >= 1 {
		return a.powers(n)
	}
	lo, hi := a.lo, a.hi
	if a.log {
		lo, hi = math.Pow(10, lo), math.Pow(10, hi)
	}
	step := roundStep((hi - lo) / float64(n))
	var all []tick
	for i := math.Ceil(lo / step); i*step <= hi && len(all) <= 2*n; i++ {
		v := i * step
		if at := a.at(v); finite(at) {
			all = append(all, tick{at, Number(v)})
		}
	}
	return all
}

// powers returns marks at powers of ten.
func (a axis) powers(n int) []tick {
	every := math.Max(1, math.Ceil((a.hi-a.lo)/float64(n)))
	var all []tick
	for e := math.Ceil(a.lo); e <= a.hi; e += every {
		all = append(all, tick{(e - a.lo) / (a.hi - a.lo), Number(math.Pow(10, e))})
	}
	return all
}

// labelTicks returns the labels, or some of them if there are more than n.
func (a axis) labelTicks(n int) []tick {
	every := (len(a.labels) + n - 1) / n
	var all []tick
	for i := 0; i < len(a.labels); i += max(every, 1) {
		all = append(all, tick{a.at(float64(i)), cut(a.labels[i])})
	}
	return all
}

// roundStep returns the next 1, 2 or 5 times a power of ten.
func roundStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= step*0.999 {
			return times * power
		}
	}
	return 10 * power
}

// Number formats a value with at most four significant digits.
func Number(v float64) string {
	if v == 0 {
		return "0" // also for -0
	}
	if a := math.Abs(v); a >= 1e-3 && a < 1e6 {
		digits := 4 - int(math.Floor(math.Log10(a))) - 1
		text := strconv.FormatFloat(v, 'f', max(digits, 0), 64)
		return trimZeros(text)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func trimZeros(text string) string {
	for i := range text {
		if text[i] != '.' {
			continue
		}
		end := len(text)
		for text[end-1] == '0' {
			end--
		}
		if text[end-1] == '.' {
			end--
		}
		return text[:end]
	}
	return text
}

// longest is the number of characters of a label.
const longest = 16

func cut(text string) string {
	r := []rune(text)
	if len(r) <= longest {
		return text
	}
	return string(r[:longest-1]) + "…"
}
