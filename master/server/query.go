package server

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The readers below remember the first parameter that is wrong; a handler
// asks c.bad before it acts.

// allValues is every value of a parameter in either spelling.
func (c *call) allValues(name string) []string {
	q := c.URL.Query()
	values := q[name]
	if other := snake(name); other != name {
		values = append(values, q[other]...)
	}
	return slices.DeleteFunc(values, func(v string) bool { return v == "" })
}

func (c *call) textParam(name string) string {
	if values := c.allValues(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (c *call) rejectParam(name, rule string) {
	if c.bad == nil {
		c.bad = status.New(status.InvalidArgument, "%s: must be %s (%q)", name, rule, excerpt.Of(c.textParam(name)))
	}
}

func (c *call) numberParam(name string) int {
	text := c.textParam(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		c.rejectParam(name, "a whole number")
	}
	return int(n)
}

// afterParam is the number after the one that a parameter names, 0 when it is not there:
// where a reader continues who has read up to that one.
func (c *call) afterParam(name string) int64 {
	text := c.textParam(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n == math.MaxInt64 {
		c.rejectParam(name, "the id of a line")
		return 0
	}
	return n + 1
}

func (c *call) numberParams(name string) []int32 {
	var list []int32
	for _, text := range c.allValues(name) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			c.rejectParam(name, "whole numbers")
		}
		list = append(list, int32(n))
	}
	return list
}

// flagParam is nil when the parameter is not there.
func (c *call) flagParam(name string) *bool {
	text := c.textParam(name)
	if text == "" {
		return nil
	}
	b, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		c.rejectParam(name, "true or false")
	}
	return &b
}

func (c *call) isSet(name string) bool {
	b := c.flagParam(name)
	return b != nil && *b
}

func (c *call) timeParam(name string) time.Time {
	text := c.textParam(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		c.rejectParam(name, "a time like 2026-01-02T15:04:05Z")
	}
	return t
}

func (c *call) isDescending() bool {
	switch c.textParam("orderBy") {
	case "", "ORDER_BY_UNSPECIFIED", "ORDER_BY_ASC":
	case "ORDER_BY_DESC":
		return true
	default:
		c.rejectParam("orderBy", "ORDER_BY_ASC or ORDER_BY_DESC")
	}
	return false
}

// snake is the other spelling of a name.
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

// sortList orders list by the parameter sortBy, whose values are the keys of by; the
// key "" is the order without one. It changes list.
func sortList[T any](c *call, list []T, by map[string]func(a, b T) int) {
	compare := orderParam(c, by)
	if compare == nil {
		return
	}
	slices.SortStableFunc(list, compare)
	if c.isDescending() {
		slices.Reverse(list)
	}
}

// orderParam is what the parameter sortBy names, whose values are the keys of by; zero for what
// is none of them.
func orderParam[O any](c *call, by map[string]O) O {
	key := c.textParam("sortBy")
	if strings.HasSuffix(key, "_UNSPECIFIED") {
		key = ""
	}
	order, found := by[key]
	if !found {
		names := make([]string, 0, len(by))
		for k := range by {
			if k != "" {
				names = append(names, k)
			}
		}
		slices.Sort(names)
		c.rejectParam("sortBy", "one of "+strings.Join(names, ", "))
	}
	return order
}

// cutPage cuts out the part of list that the parameters offset and limit ask for. A
// negative offset counts from the end; limitParam has the limits.
func cutPage[T any](c *call, list []T) ([]T, *apiv1.Pagination) {
	p := c.partParam().of(len(list))
	return list[p.GetStartIndex():p.GetEndIndex()], p
}

// part is what the parameters offset and limit ask for.
type part struct{ offset, limit int }

func (c *call) partParam() part {
	return part{c.numberParam("offset"), c.limitParam()}
}

// limitParam is the parameter limit of a list. As in Determined 0 and -1 list everything, and -2
// counts and lists nothing.
func (c *call) limitParam() int {
	n := c.numberParam("limit")
	if n < apiv1.CountOnly {
		c.rejectParam("limit", "-2 or more; -1 lists everything, -2 counts and lists nothing")
		return 0
	}
	return n
}

// linesParam is the parameter limit of a log; 0 and -1 are no limit.
func (c *call) linesParam() int {
	n := c.numberParam("limit")
	if n < -1 {
		c.rejectParam("limit", "-1 or more; 0 and -1 are no limit")
	}
	return max(n, 0)
}

// of is the part of a list of so many.
func (p part) of(total int) *apiv1.Pagination {
	return apiv1.Page(total, int32(p.offset), int32(p.limit))
}
