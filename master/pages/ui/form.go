package ui

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// Field returns a field of one line of the form of the visit.
func (v *Visit) Field(name string) string { return strings.TrimSpace(v.PostForm.Get(name)) }

// Lines returns a field of several lines of the form of the visit. Browsers end lines with CR and LF.
func (v *Visit) Lines(name string) string {
	return strings.ReplaceAll(v.PostForm.Get(name), "\r\n", "\n")
}

// Labels returns labels that a field has one in a line, as a patch has them.
func Labels(lines string) *structpb.ListValue {
	out := &structpb.ListValue{}
	for line := range strings.Lines(lines) {
		if label := strings.TrimSpace(line); label != "" {
			out.Values = append(out.Values, structpb.NewStringValue(label))
		}
	}
	return out
}

// Number returns a field with the number of an object. Its error has the sentence for a visitor who has not given one.
func (v *Visit) Number(name, otherwise string) (int32, error) {
	n, err := strconv.ParseInt(v.Field(name), 10, 32)
	if err != nil || n <= 0 {
		return 0, &Refusal{http.StatusBadRequest, otherwise}
	}
	return int32(n), nil
}

// Indented returns an object as JSON for people, or "" if it has no fields.
func Indented(object *structpb.Struct) string {
	if len(object.GetFields()) == 0 {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(object.AsMap()) != nil { // it may have numbers that JSON has not
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
