package query

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// enumeration constrains enums of the API.
type enumeration interface {
	~int32
	protoreflect.Enum
}

// Enum returns the value of an enum parameter, or 0 if it is not set.
func Enum[E enumeration](v *Values, name string) E {
	if list := Enums[E](v, name); len(list) > 0 {
		return list[0]
	}
	return 0
}

// Enums returns all values of an enum parameter, without the unspecified value.
func Enums[E enumeration](v *Values, name string) []E {
	var zero E
	values := zero.Descriptor().Values()
	var list []E
	for _, text := range v.All(name) {
		found := values.ByName(protoreflect.Name(text))
		if found == nil {
			v.Reject(name, "one of "+strings.Join(enumNames(values), ", "))
			continue
		}
		if found.Number() != 0 {
			list = append(list, E(found.Number()))
		}
	}
	return list
}

func enumNames(values protoreflect.EnumValueDescriptors) []string {
	var names []string
	for i := range values.Len() {
		if v := values.Get(i); v.Number() != 0 {
			names = append(names, string(v.Name()))
		}
	}
	return names
}
