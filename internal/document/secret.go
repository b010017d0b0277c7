package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Redacted is the printed form of a secret.
const Redacted = "‹redacted›"

// Masked is the form of a secret in a displayed configuration.
const Masked = "********"

// Secret is text that must not be printed: a password, or a script that may contain one. It holds a
// pointer, because fmt prints unexported fields.
type Secret struct{ text *string }

// NewSecret returns a secret; "" is no secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text. The caller must protect it.
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

// String returns Redacted, or "" if there is no secret.
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

// MarshalText redacts in every text encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML redacts in YAML that is not written by this package.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// UnmarshalText stores the text unchanged.
func (s *Secret) UnmarshalText(text []byte) error {
	if s == nil {
		return errors.New("decode a secret into a nil pointer")
	}
	*s = NewSecret(string(text))
	return nil
}

// Concealed identifies secrets of any package when a document is written. Conceal returns the form
// for administrators: Masked, or the reference to the secret's location. Disclose returns the form
// for a configuration file.
type Concealed interface {
	IsZero() bool
	Conceal() string
	Disclose() string
}

// Conceal returns Masked.
func (s Secret) Conceal() string { return Masked }

// Disclose returns the text.
func (s Secret) Disclose() string { return s.Reveal() }
