// Package secret implements references to secrets in configuration files: file:, env:, aws-sm: and
// gcp-sm:. They are resolved on use. It is a leaf package.
package secret

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

const (
	redacted = "‹redacted›"
	masked   = "********"
)

// Value is a secret or a reference to one in a configuration. It is redacted in all output formats.
// The zero Value is an unset secret.
type Value struct {
	// literal is a pointer because fmt prints unexported fields.
	literal *string
	ref     *Ref
}

// Literal returns a value that is the secret itself. Literal("") is the zero Value.
func Literal(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{literal: &text}
}

// Parse parses a value: a reference if it starts with a scheme of this package, otherwise the
// secret itself. The prefix "literal:" allows secrets that look like a reference. Errors do not
// contain the text.
func Parse(text string) (Value, error) {
	if rest, ok := cutScheme(text, "literal"); ok {
		return Literal(rest), nil
	}
	ref, found, err := parseRef(text)
	if err != nil {
		return Value{}, err
	}
	if found {
		return Value{ref: &ref}, nil
	}
	return Literal(text), nil
}

// IsZero reports whether the value is unset.
func (v Value) IsZero() bool { return v.literal == nil && v.ref == nil }

// Ref returns the reference, if the value is one.
func (v Value) Ref() (Ref, bool) {
	if v.ref == nil {
		return Ref{}, false
	}
	return *v.ref, true
}

// Reveal returns the secret of a literal or resolved value, or "" for an unresolved reference. The
// caller is responsible for keeping it confidential.
func (v Value) Reveal() string {
	if v.literal == nil {
		return ""
	}
	return *v.literal
}

// Equal reports whether both values are the same secret or the same reference.
func (v Value) Equal(o Value) bool {
	a, isRef := v.Ref()
	b, otherRef := o.Ref()
	return isRef == otherRef && a == b && v.Reveal() == o.Reveal()
}

// String returns the redacted value, or "" if it is unset.
func (v Value) String() string {
	if v.IsZero() {
		return ""
	}
	return redacted
}

// Format redacts the value for every verb.
func (v Value) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, v.String()) // fmt.State reports its own errors
}

// LogValue redacts the value in logs.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalJSON redacts the value in JSON.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// MarshalText redacts the value in all text encodings.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// MarshalYAML redacts the value in YAML that is not written through Disclose.
func (v Value) MarshalYAML() (any, error) { return v.String(), nil }

// UnmarshalText parses the text like Parse.
func (v *Value) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// Conceal returns the form shown to administrators: the reference, or asterisks.
func (v Value) Conceal() string {
	switch {
	case v.ref != nil:
		return v.ref.String()
	case v.literal != nil:
		return masked
	}
	return ""
}

// Disclose returns the text that Parse converts back to v, for configuration files.
func (v Value) Disclose() string {
	if v.ref != nil {
		return v.ref.String()
	}
	text := v.Reveal()
	if _, found, err := parseRef(text); found || err != nil {
		return "literal:" + text
	}
	if _, ok := cutScheme(text, "literal"); ok {
		return "literal:" + text
	}
	return text
}
