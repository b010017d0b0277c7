package server

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/det-deploy/det-deploy/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The readers below remember the first parameter that is wrong; a handler
// asks c.bad before it acts.

// all is every value of a parameter in either spelling.
func (c *call) all(name string) []string {
	q := c.URL.Query()
	values := q[name]
	if other := snake(name); other != name {
		values = append(values, q[other]...)
	}
	return slices.DeleteFunc(values, func(v string) bool { return v == "" })
}

func (c *call) text(name string) string {
	if values := c.all(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (c *call) wrong(name, rule string) {
	if c.bad == nil {
		c.bad = status.New(status.InvalidArgument, "%s: must be %s (%q)", name, rule, excerpt.Of(c.text(name)))
	}
}

func (c *call) number(name string) int {
	text := c.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		c.wrong(name, "a whole number")
	}
	return int(n)
}

// behind is the number after the one that a parameter names, 0 when it is not there:
// where a reader continues who has read up to that one.
func (c *call) behind(name string) int64 {
	text := c.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n == math.MaxInt64 {
		c.wrong(name, "the id of a line")
		return 0
	}
	return n + 1
}

func (c *call) numbers(name string) []int32 {
	var list []int32
	for _, text := range c.all(name) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			c.wrong(name, "whole numbers")
		}
		list = append(list, int32(n))
	}
	return list
}

// flag is nil when the parameter is not there.
func (c *call) flag(name string) *bool {
	text := c.text(name)
	if text == "" {
		return nil
	}
	b, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		c.wrong(name, "true or false")
	}
	return &b
}

func (c *call) is(name string) bool {
	b := c.flag(name)
	return b != nil && *b
}

func (c *call) time(name string) time.Time {
	text := c.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		c.wrong(name, "a time like 2026-01-02T15:04:05Z")
	}
	return t
}

func (c *call) descending() bool {
	switch c.text("orderBy") {
	case "", "ORDER_BY_UNSPECIFIED", "ORDER_BY_ASC":
	case "ORDER_BY_DESC":
		return true
	default:
		c.wrong("orderBy", "ORDER_BY_ASC or ORDER_BY_DESC")
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
	key := c.text("sortBy")
	if strings.HasSuffix(key, "_UNSPECIFIED") {
		key = ""
	}
	compare, found := by[key]
	if !found {
		names := make([]string, 0, len(by))
		for k := range by {
			if k != "" {
				names = append(names, k)
			}
		}
		slices.Sort(names)
		c.wrong("sortBy", "one of "+strings.Join(names, ", "))
		return
	}
	slices.SortStableFunc(list, compare)
	if c.descending() {
		slices.Reverse(list)
	}
}

// page cuts out the part of list that the parameters offset and limit ask for. A
// negative offset counts from the end; a limit of 0 is none.
func page[T any](c *call, list []T) ([]T, *apiv1.Pagination) {
	offset, limit := c.number("offset"), c.number("limit")
	if limit < 0 {
		c.wrong("limit", "0 or more")
		limit = 0
	}
	total := len(list)
	start := offset
	if start < 0 {
		start += total
	}
	start = min(max(start, 0), total)
	end := total
	if limit > 0 {
		end = min(start+limit, total)
	}
	return list[start:end], &apiv1.Pagination{
		Offset: int32(offset), Limit: int32(limit),
		StartIndex: int32(start), EndIndex: int32(end), Total: int32(total),
	}
}
