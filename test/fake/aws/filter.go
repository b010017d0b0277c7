package awstest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// look describes how EC2 finds and filters objects of one kind.
type look[T any] struct {
	// absent is the error code for an unknown ID.
	absent string
	tags   func(T) []types.Tag
	// field returns the values of an object for a filter. Ok is false if the kind does not support
	// the filter.
	field func(v T, name string) (values []string, ok bool)
}

// find implements describe calls: it returns the objects with the given IDs, or an error if one
// does not exist, or the objects that match the filters.
func find[T any](t *table[T], ids []string, filters []types.Filter, l look[T]) ([]T, error) {
	var out []T
	if len(ids) == 0 {
		out = t.listed()
	}
	for _, id := range ids {
		v, ok := t.ask(id)
		if !ok {
			return nil, refuse(400, l.absent, "The ID '"+id+"' does not exist")
		}
		out = append(out, *v)
	}
	return filterObjects(out, filters, l)
}

// filterObjects returns the objects that match all filters.
func filterObjects[T any](in []T, filters []types.Filter, l look[T]) ([]T, error) {
	var out []T
	for _, v := range in {
		keep := true
		for _, f := range filters {
			ok, err := passes(v, f, l)
			if err != nil {
				return nil, err
			}
			keep = keep && ok
		}
		if keep {
			out = append(out, v)
		}
	}
	return out, nil
}

func passes[T any](v T, f types.Filter, l look[T]) (bool, error) {
	name := aws.ToString(f.Name)
	var have []string
	key, isTag := strings.CutPrefix(name, "tag:")
	switch {
	case isTag && l.tags != nil:
		if value, found := tagOf(l.tags(v), key); found {
			have = []string{value}
		}
	case name == "tag-key" && l.tags != nil:
		for _, t := range l.tags(v) {
			have = append(have, aws.ToString(t.Key))
		}
	default:
		values, ok := l.field(v, name)
		if !ok {
			return false, invalid("The filter '%s' is invalid", name)
		}
		have = values
	}
	for _, pattern := range f.Values {
		if slices.ContainsFunc(have, func(s string) bool { return match(pattern, s) }) {
			return true, nil
		}
	}
	return false, nil
}

// match implements the patterns of EC2 and IAM: * matches any text, ? matches one character.
func match(pattern, s string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for i := range len(s) + 1 {
				if match(pattern[1:], s[i:]) {
					return true
				}
			}
			return false
		case s == "" || pattern[0] != '?' && pattern[0] != s[0]:
			return false
		}
		pattern, s = pattern[1:], s[1:]
	}
	return s == ""
}

// page returns one page of a list. The token is the offset of the next page.
func page[T any](s *site, all []T, token *string, most *int32) (out []T, next *string, err error) {
	from, size := 0, s.opt.Page
	if most != nil && int(*most) < size {
		size = int(*most)
	}
	if t := aws.ToString(token); t != "" {
		digits, ok := strings.CutPrefix(t, "page-")
		if from, err = strconv.Atoi(digits); !ok || err != nil {
			return nil, nil, invalid("Invalid token '%s'", t)
		}
	}
	from = min(from, len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		next = aws.String("page-" + number(to))
	}
	return all[from:to], next, nil
}
