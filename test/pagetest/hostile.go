package pagetest

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Hostile is a text with markup, a character that turns the direction of writing, and a control character.
const Hostile = `"><script>alert(1)</script>'` + "\u202e\x07"

// JSON returns a response of the API.
func JSON(t testing.TB, m proto.Message) string {
	t.Helper()
	b, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// values are the values of fields, which a form sends as they are.
var values = regexp.MustCompile(` value="[^"]*"`)

// WantEscaped fails the test if a page has the markup of Hostile, or shows its control characters.
func (s *Site) WantEscaped(page string) {
	s.t.Helper()
	page = values.ReplaceAllString(page, "")
	for _, part := range []string{"<script>alert", "\u202e", "\x07"} {
		if i := strings.Index(page, part); i >= 0 {
			s.t.Errorf("the page has %q:\n%s", part, page[max(0, i-200):min(len(page), i+100)])
		}
	}
}
