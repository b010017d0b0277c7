package document

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
)

// sameTree compares trees except for positions, quoting and number spelling.
func sameTree(a, b *yaml.Node) string {
	return cmp.Diff(a, b, cmpopts.IgnoreFields(yaml.Node{}, "Line", "Column", "Style"))
}

func TestJSONIsReadAsYAMLReadsIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `{}`, `null`,
		`{"a": "b", "n": 1, "f": 1.5, "e": 1e3, "big": 12345678901234567890, "huge": 1234567890123456789012, "minus": -7, "t": true, "x": null}`,
		`{"list": [1, "1", [], {}, [null, false]], "deep": {"a": {"b": {"c": "d"}}}}`,
		`{"<<": {"a": 1}, "quoted": "true", "date": "2024-01-01", "null": "null", "esc": "a\"\\\u00e9\n\t/"}`,
		`{"a": 1, "a": 2}`,
	} {
		fast, err := ParseJSON([]byte(text), "x")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		slow, err := Parse([]byte(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		if diff := sameTree(slow.root, fast.root); diff != "" {
			t.Errorf("%s: (-YAML +JSON):\n%s", text, diff)
		}
	}
}

func TestJSONIsBoundedAndRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"not JSON", `{"a"`, "is not valid JSON"},
		{"two documents", `{} {}`, "data after"},
		{"a list", `[]`, "must be a mapping of keys to values, is a list"},
		{"depth", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "nested more than 64 levels"},
		{"many", `{"a": [` + strings.Repeat("1,", 300_000) + "1]}", "more than 200000 values"},
		{"large", `{"a": "` + strings.Repeat("x", MaxBytes) + `"}`, "is larger than"},
	} {
		if _, err := ParseJSON([]byte(tc.text), "x"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want an error with %q", tc.name, err, tc.want)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`{"a": [1, 2.5, "x", null, true], "b": {"c": -1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ParseJSON(data, "x")
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is read and not valid", data)
		}
		again, err := json.Marshal(plainMapping(d.root))
		if err != nil {
			return // a number too large for a float
		}
		slow, err := Parse(again, "x")
		if err != nil {
			return // control characters, which YAML does not permit
		}
		fast, err := ParseJSON(again, "x")
		if err != nil {
			t.Fatal(err)
		}
		if diff := sameTree(slow.root, fast.root); diff != "" {
			t.Errorf("%s: (-YAML +JSON):\n%s", again, diff)
		}
	})
}
