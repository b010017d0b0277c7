// Package secret lets a configuration say where a secret is kept instead of what
// it is: file:, env:, aws-sm: and gcp-sm: references, resolved when they are
// needed. It is a leaf.
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

// Value is a secret, or a reference to one, as it stands in a configuration. It
// prints redacted in every format. The zero Value means that none was given.
type Value struct {
	// literal is a pointer because fmt looks through unexported fields.
	literal *string
	ref     *Ref
}

// Literal is a value that is the secret itself; "" is no secret.
func Literal(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{literal: &text}
}

// Parse reads a value: a reference when it begins with a scheme of this package,
// the secret itself otherwise. "literal:" in front allows a secret that looks
// like a reference. Errors do not contain the text.
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

// IsZero reports whether none was given.
func (v Value) IsZero() bool { return v.literal == nil && v.ref == nil }

// Ref is the reference, when the value is one.
func (v Value) Ref() (Ref, bool) {
	if v.ref == nil {
		return Ref{}, false
	}
	return *v.ref, true
}

// Reveal is the secret of a literal or resolved value, "" for an unresolved
// reference. The caller is responsible for where the text goes.
func (v Value) Reveal() string {
	if v.literal == nil {
		return ""
	}
	return *v.literal
}

// Equal reports whether both are the same secret or the same reference.
func (v Value) Equal(o Value) bool {
	a, isRef := v.Ref()
	b, otherRef := o.Ref()
	return isRef == otherRef && a == b && v.Reveal() == o.Reveal()
}

// String is redacted, and "" when none was given.
func (v Value) String() string {
	if v.IsZero() {
		return ""
	}
	return redacted
}

// Format redacts under every verb.
func (v Value) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, v.String()) // fmt.State reports its own errors
}

// LogValue redacts in logs.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalJSON redacts in JSON.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// MarshalText redacts wherever text is asked for.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// MarshalYAML redacts in YAML that is not written through Disclose.
func (v Value) MarshalYAML() (any, error) { return v.String(), nil }

// UnmarshalText reads what Parse reads.
func (v *Value) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// Conceal is what an administrator may see: the reference, or asterisks.
func (v Value) Conceal() string {
	switch {
	case v.ref != nil:
		return v.ref.String()
	case v.literal != nil:
		return masked
	}
	return ""
}

// Disclose is what a configuration file needs so that Parse gives v again.
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
