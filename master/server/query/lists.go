package query

import (
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Sort orders list by the parameter sortBy, whose values are the keys of by; the
// key "" is the order without one. It changes list.
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

// Order is what the parameter sortBy names, whose values are the keys of by; zero for what
// is none of them.
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

// Cut cuts out the part of list that the parameters offset and limit ask for. A
// negative offset counts from the end; Limit has the limits.
func Cut[T any](v *Values, list []T) ([]T, *apiv1.Pagination) {
	p := v.Part().Of(len(list))
	return list[p.GetStartIndex():p.GetEndIndex()], p
}

// Part is what the parameters offset and limit ask for.
type Part struct{ Offset, Limit int }

// Part reads the parameters offset and limit.
func (v *Values) Part() Part { return Part{v.Number("offset"), v.Limit()} }

// Of is the part of a list of so many.
func (p Part) Of(total int) *apiv1.Pagination {
	return apiv1.Page(total, int32(p.Offset), int32(p.Limit))
}
