package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what a secret prints as.
const Redacted = "‹redacted›"

// Masked is what a secret becomes in configuration that is shown to people.
const Masked = "********"

// Secret is text that must not be printed: a password, or a script that may
// contain one. It holds a pointer, because fmt looks through unexported fields.
type Secret struct{ text *string }

// NewSecret keeps text; "" is no secret at all.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal is the text itself. The caller is responsible for where it goes.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal reports whether two secrets have the same text.
func (s Secret) Equal(o Secret) bool { return s.Reveal() == o.Reveal() }

// String is always Redacted, and "" when there is no secret.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return Redacted
}

// Format redacts under every verb.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, s.String()) // fmt.State reports its own errors
}

// LogValue redacts in logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON redacts in JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText redacts wherever text is asked for.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML redacts in YAML that does not go through this package.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// UnmarshalText takes the text as it is.
func (s *Secret) UnmarshalText(text []byte) error {
	if s == nil {
		return errors.New("read a secret into nothing")
	}
	*s = NewSecret(string(text))
	return nil
}

// Concealed is how this package recognises secrets of any package when it writes
// a document. Conceal returns the form that may be shown to an administrator:
// Masked, or the reference that says where the secret is kept. Disclose returns
// the form a configuration file needs.
type Concealed interface {
	IsZero() bool
	Conceal() string
	Disclose() string
}

// Conceal is Masked.
func (s Secret) Conceal() string { return Masked }

// Disclose is the text.
func (s Secret) Disclose() string { return s.Reveal() }
