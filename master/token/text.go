// Package token creates and verifies the tokens that authenticate agents, users and tasks to a
// master: join tokens, agent credentials and session tokens.
//
// The agent imports it too, so it imports no other package of the master.
package token

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

const redacted = "‹redacted›"

// Text is a token in plain text. It prints redacted; code that converts it to a string must not
// leak it.
type Text string

// String returns a placeholder.
func (t Text) String() string { return redacted }

// Format writes a placeholder for every verb.
func (t Text) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, redacted) // fmt.State records its own errors
}

// LogValue returns a placeholder for logs.
func (t Text) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns an error, so that a token is not written to a document by accident.
func (t Text) MarshalText() ([]byte, error) {
	return nil, errors.New("a token must not be marshaled")
}

// The errors of verification.
var (
	// ErrMalformed: the text is not a token of this kind and version.
	ErrMalformed = errors.New("this is not a token that det-deploy made")
	// ErrUnknownKey: the key that signed it is not known, or no longer.
	ErrUnknownKey = errors.New("the key that signed this token has been retired")
	// ErrForged: the signature does not match the text.
	ErrForged = errors.New("the signature of this token is wrong")
	// ErrExpired: it has expired.
	ErrExpired = errors.New("this token has expired")
	// ErrOtherCluster: another cluster created it.
	ErrOtherCluster = errors.New("this token belongs to another cluster")
)
