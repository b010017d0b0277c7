package document

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a duration written with its unit: "20m", "1h30m".
type Duration time.Duration

// UnmarshalDocument decodes the duration.
func (d *Duration) UnmarshalDocument(v Value) {
	if v.IsNumber() {
		v.Complain("must be a duration with a unit, is the number "+v.Text(), fmt.Sprintf("write %ss for seconds", v.Text()))
		return
	}
	var s string
	if v.Decode(&s) {
		readDuration(v, s, (*time.Duration)(d))
	}
}

// String returns "20m" rather than "20m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalDocument returns the duration with its unit.
func (d Duration) MarshalDocument() any { return d.String() }

// Seconds is a duration that older files write as a number of seconds; a unit is permitted as well.
type Seconds time.Duration

// UnmarshalDocument decodes a number of seconds or a duration with a unit.
func (s *Seconds) UnmarshalDocument(v Value) {
	if n, err := strconv.ParseInt(v.Text(), 10, 64); v.IsText() && err == nil {
		if limit := int64(1<<63-1) / int64(time.Second); n > limit || n < -limit {
			v.Complain("is too long: "+v.Text()+" seconds", "")
			return
		}
		*s = Seconds(time.Duration(n) * time.Second)
		return
	}
	var text string
	if v.Decode(&text) {
		readDuration(v, text, (*time.Duration)(s))
	}
}

// String returns the duration with its unit.
func (s Seconds) String() string { return Duration(s).String() }

// MarshalDocument returns whole seconds as a number, as older versions expect.
func (s Seconds) MarshalDocument() any {
	if d := time.Duration(s); d%time.Second == 0 {
		return int64(d / time.Second)
	}
	return s.String()
}

func readDuration(v Value, text string, into *time.Duration) {
	d, err := time.ParseDuration(text)
	if err != nil {
		v.Complain(fmt.Sprintf("is not a duration: %q", text), `write a number with its unit, as in "90s", "20m" or "1h30m"`)
		return
	}
	*into = d
}

// Bytes is a number of bytes, which may be written with a unit: "4g", "512MiB".
type Bytes int64

// UnmarshalDocument decodes a number, or text with a binary unit.
func (b *Bytes) UnmarshalDocument(v Value) {
	if !v.IsText() {
		v.Complain("must be a number of bytes or a text such as 4g", "")
		return
	}
	n, ok := ParseBytes(v.Text())
	if !ok {
		v.Complain("must be more than 0 bytes, written as a number or with a unit, as in 512m or 4g", "")
		return
	}
	*b = n
}

// DocumentShape describes the written form.
func (Bytes) DocumentShape() string { return "bytes, or text such as 4g" }

// ParseBytes parses a positive number of bytes with an optional binary unit; ok is false for any
// other text.
func ParseBytes(text string) (Bytes, bool) {
	s := strings.ToLower(strings.TrimSpace(text))
	s = strings.TrimSuffix(strings.TrimSuffix(s, "b"), "i")
	shift := 0
	if s != "" {
		if at := strings.IndexByte("kmgt", s[len(s)-1]); at >= 0 {
			shift, s = 10*(at+1), s[:len(s)-1]
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n <= 0 || n > (1<<62)>>shift {
		return 0, false
	}
	return Bytes(n << shift), true
}
