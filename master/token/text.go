// Package token makes and checks the texts by which agents, users and tasks prove
// who they are to a master: join tokens, agent credentials and session tokens.
//
// It is a leaf: the agent imports it too.
package token

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

const redacted = "‹redacted›"

// Text is a token as it travels. It prints redacted; string(t) is the text itself,
// and the code that converts it answers for where it goes.
type Text string

// String hides the token.
func (t Text) String() string { return redacted }

// Format hides the token under every verb.
func (t Text) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, redacted) // fmt.State reports its own errors
}

// LogValue hides the token from logs.
func (t Text) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText refuses: a token is not written into documents by accident.
func (t Text) MarshalText() ([]byte, error) {
	return nil, errors.New("refuse to marshal a token")
}

// The refusals that callers tell apart.
var (
	// ErrMalformed: the text is no token of this kind and version.
	ErrMalformed = errors.New("this is not a token that det-deploy made")
	// ErrUnknownKey: it was signed by a key that is no longer, or not yet, known.
	ErrUnknownKey = errors.New("the key that signed this token has been retired")
	// ErrForged: the signature does not fit the text.
	ErrForged = errors.New("the signature of this token is wrong")
	// ErrExpired: its time has passed.
	ErrExpired = errors.New("this token has expired")
	// ErrOtherCluster: it was made by another cluster.
	ErrOtherCluster = errors.New("this token belongs to another cluster")
)
