package query

import (
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Sort sorts list in place by the parameter sortBy, whose values are the keys of by. The key "" is the
// default order.
func Sort[T any](v *Values, list []T, by map[string]func(a, b T) int) {
	compare := Order(v, by)
	if compare == nil {
		return
	}
	slices.SortStableFunc(list, compare)
	if v.Descending() {
		slices.Reverse(list)
	}
}

// Order returns the element of by for the parameter sortBy. It returns the zero value for an unknown key.
func Order[O any](v *Values, by map[string]O) O {
	key := v.Text("sortBy")
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
		v.Reject("sortBy", "one of "+strings.Join(names, ", "))
	}
	return order
}

// Cut returns the part of list selected by the parameters offset and limit. A negative offset counts from
// the end; see Limit for its values.
func Cut[T any](v *Values, list []T) ([]T, *apiv1.Pagination) {
	p := v.Part().Of(len(list))
	return list[p.GetStartIndex():p.GetEndIndex()], p
}

// Part holds the parameters offset and limit.
type Part struct{ Offset, Limit int }

// Part returns the parameters offset and limit.
func (v *Values) Part() Part { return Part{v.Number("offset"), v.Limit()} }

// Of returns the page for a list of total items.
func (p Part) Of(total int) *apiv1.Pagination {
	return apiv1.Page(total, int32(p.Offset), int32(p.Limit))
}
