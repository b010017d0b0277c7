// Package query parses the query parameters of a call, in both spellings, and records the first error.
package query

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Values holds the query parameters of a call. Its methods record the first invalid parameter; handlers
// check Err before they act.
type Values struct {
	given url.Values
	bad   error
}

// Of returns the parameters of a URL.
func Of(u *url.URL) *Values { return &Values{given: u.Query()} }

// Err returns the error for the first invalid parameter, or nil.
func (v *Values) Err() error { return v.bad }

// All returns the values of a parameter in either spelling.
func (v *Values) All(name string) []string {
	values := slices.Clone(v.given[name])
	if other := snake(name); other != name {
		values = append(values, v.given[other]...)
	}
	return slices.DeleteFunc(values, func(text string) bool { return text == "" })
}

// Text returns the first value of a parameter, or "".
func (v *Values) Text(name string) string {
	if values := v.All(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Reject records that a parameter is invalid, unless an earlier one was.
func (v *Values) Reject(name, rule string) {
	if v.bad == nil {
		v.bad = status.New(status.InvalidArgument, "%s: must be %s (is %q)", name, rule, excerpt.Of(v.Text(name)))
	}
}

// Number returns a 32-bit integer parameter, or 0 if it is not set.
func (v *Values) Number(name string) int {
	text := v.Text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		v.Reject(name, "a whole number")
	}
	return int(n)
}

// After returns the number that follows the parameter, or 0 if it is not set. A client passes the ID of
// the last line that it has read.
func (v *Values) After(name string) int64 {
	if v.Text(name) == "" {
		return 0
	}
	return v.LineID(name) + 1
}

// LineID returns the ID of a line of a log, or 0 if it is not set.
func (v *Values) LineID(name string) int64 {
	text := v.Text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n == math.MaxInt64 {
		v.Reject(name, "the ID of a line")
		return 0
	}
	return n
}

// Numbers returns a list of 32-bit integers.
func (v *Values) Numbers(name string) []int32 {
	var list []int32
	for _, text := range v.All(name) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			v.Reject(name, "whole numbers")
		}
		list = append(list, int32(n))
	}
	return list
}

// Flag returns a boolean parameter, or nil if it is not set.
func (v *Values) Flag(name string) *bool {
	text := v.Text(name)
	if text == "" {
		return nil
	}
	b, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		v.Reject(name, "true or false")
	}
	return &b
}

// IsSet reports whether a boolean parameter is true.
func (v *Values) IsSet(name string) bool {
	b := v.Flag(name)
	return b != nil && *b
}

// Time returns a time parameter, or the zero time if it is not set.
func (v *Values) Time(name string) time.Time {
	text := v.Text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		v.Reject(name, "a time such as 2026-01-02T15:04:05Z")
	}
	return t
}

// Descending reports whether the parameter orderBy requests descending order.
func (v *Values) Descending() bool {
	switch v.Text("orderBy") {
	case "", "ORDER_BY_UNSPECIFIED", "ORDER_BY_ASC":
	case "ORDER_BY_DESC":
		return true
	default:
		v.Reject("orderBy", "ORDER_BY_ASC or ORDER_BY_DESC")
	}
	return false
}

// Bound returns an inclusive bound. It is given by the parameter included, or by excluded, to which step
// is added. It returns nil if neither is set.
func (v *Values) Bound(included, excluded string, step int32) *int32 {
	if v.Text(included) != "" {
		return new(int32(v.Number(included)))
	}
	if v.Text(excluded) != "" {
		return new(int32(v.Number(excluded)) + step)
	}
	return nil
}

// NeededTime returns a required time parameter.
func (v *Values) NeededTime(name string) time.Time {
	at := v.Time(name)
	if at.IsZero() {
		v.Reject(name, "a time such as 2026-01-02T15:04:05Z")
	}
	return at
}

// Date returns a required date parameter, the start of a day or month in UTC, in a layout of package time.
func (v *Values) Date(name, layout string) time.Time {
	at, err := time.Parse(layout, v.Text(name))
	if err != nil {
		v.Reject(name, "a date such as "+time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Format(layout))
	}
	return at
}

// Count returns a number of checkpoints, or nil if it is not set.
func (v *Values) Count(name string) *int32 {
	if v.Text(name) == "" {
		return nil
	}
	n := v.Number(name)
	if n < 0 {
		v.Reject(name, "0 or more")
	}
	count := int32(n) //nolint:gosec // Number reads 32 bits
	return &count
}

// Limit returns the parameter limit of a list. As in Determined, -1 returns everything and -2 only the
// count; 0 returns 100 experiments, and everything of other lists.
func (v *Values) Limit() int {
	n := v.Number("limit")
	if n < apiv1.CountOnly {
		v.Reject("limit", "-2 or more; -1 lists everything, -2 counts and lists nothing")
		return 0
	}
	return n
}

// Lines returns the parameter limit of a log; 0 and -1 are unlimited.
func (v *Values) Lines() int {
	n := v.Number("limit")
	if n < -1 {
		v.Reject("limit", "-1 or more; 0 and -1 are unlimited")
	}
	return max(n, 0)
}

// snake converts a name in camel case to snake case.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
