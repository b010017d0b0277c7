package document

import (
	"reflect"
	"strings"
)

// field is one key of a struct.
type field struct {
	key   string
	doc   string
	value reflect.Value
}

type fields []field

// fieldsOf lists the keys of a struct in the order of its declaration; those of
// ",inline" fields stand among them. A field without a yaml name, or "-", is not
// part of the document.
func fieldsOf(v reflect.Value) fields {
	var out fields
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case options == "inline":
			out = append(out, fieldsOf(v.Field(i))...)
		case name != "":
			out = append(out, field{key: name, doc: f.Tag.Get("doc"), value: v.Field(i)})
		}
	}
	return out
}

func (fs fields) findField(key string) (reflect.Value, bool) {
	for _, f := range fs {
		if f.key == key {
			return f.value, true
		}
	}
	return reflect.Value{}, false
}

func (fs fields) fieldNames() []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.key
	}
	return out
}
