package term_test

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func TestFormatRejectsUnknownValue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		add   func(*term.Format, *pflag.FlagSet)
		value string
		want  string
	}{
		{(*term.Format).AddFlag, "yaml", "must be text or json"},
		{(*term.Format).AddFlag, "json=v1", "must be text or json"},
		{(*term.Format).AddFlag, "jsonpath={.a}", "must be text or json"},
		{(*term.Format).AddAnswerFlag, "csv", "must be text, json, yaml or jsonpath=…"},
		{(*term.Format).AddShownFlag, "xml", "must be text, wide, json, yaml, name, csv or jsonpath=…"},
		{(*term.Format).AddShownFlag, "jsonpath=", "needs an expression"},
		{(*term.Format).AddShownFlag, "jsonpath={.a", "not valid"},
	}
	for _, tt := range tests {
		var f term.Format
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		tt.add(&f, flags)
		if err := flags.Set("output", tt.value); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.value, err, tt.want)
		}
		if err := flags.Set("output", "json"); err != nil || f != term.JSON {
			t.Errorf("got %q, %v, want json", f, err)
		}
	}
}

func TestObjectFormats(t *testing.T) {
	t.Parallel()
	v := map[string]any{"items": []any{map[string]any{"id": "a<b"}, map[string]any{"id": "c"}}}
	tests := []struct{ format, want string }{
		{"json", "{\n  \"items\": [\n    {\n      \"id\": \"a<b\"\n    },\n    {\n      \"id\": \"c\"\n    }\n  ]\n}\n"},
		{"yaml", "items:\n- id: a<b\n- id: c\n"},
		{"jsonpath={.items[*].id}", "a<b c\n"},
		{"jsonpath=.items[1].id", "c\n"},
		{"jsonpath=items[1].id", "c\n"},
		{"jsonpath={range .items[*]}{.id}{\"\\n\"}{end}", "a<b\nc\n\n"},
		{"jsonpath={.missing}", "\n"},
	}
	for _, tt := range tests {
		s, out, _ := term.Test("", false)
		if err := s.PrintObject(term.Format(tt.format), v); err != nil || out.String() != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.format, out, err, tt.want)
		}
	}
}
