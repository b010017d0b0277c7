package properties

import (
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// longest is the length at which a quoted value is truncated, in bytes.
const longest = 40

// describe formats a JSON value for an error message.
func describe(raw any) string {
	switch x := raw.(type) {
	case string:
		return fmt.Sprintf("%q", cutText(x))
	case json.Number:
		return cutText(x.String())
	case bool:
		return fmt.Sprint(x)
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "nothing"
}

func cutText(s string) string {
	if len(s) <= longest {
		return s
	}
	end := longest
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

func describeKind(k reflect.Kind) string {
	switch k { //nolint:exhaustive // the others are numbers
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	}
	return "a number"
}
